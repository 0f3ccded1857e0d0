"""The parts of `classify`: what is read from an error, and the tables that say what it means.

Files, each using only those before it: values, phrases, proto, evidence, live · tables, codes,
code_words, vendors · english_programs, english_rights, english_refusals, english_arguments, english, chinese, server_numbers, in_sentences, hints, words ·
answers, waits, fields · http, databases, local, refill, user · classifier.
"""
