"""What a session's final answer claims, held against what its ledger shows.

Files, each using only those before it: claims_words · claims_text, claims_made · claims_english,
claims_chinese, claims_results · claims, claims_dates, claims_values, claims_sums, claims_units,
claims_sources · record, masked, ledger, claims_given, findings, disclosure · files, counted, targets, checks, pairs,
reasons, states, tests_run, substitutes, unsupported, pretended, untold · audit · verdicts, judge, sources,
plain_answers, auditing.

``plain_answers`` is loaded with every session: what is no answer to be compared needs none of the others.
"""
