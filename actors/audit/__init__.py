"""What a session's final answer claims, held against what its ledger shows.

Files, each using only those before it: claims_words · claims_text, claims_made · claims_english,
claims_chinese, claims_results · claims, claims_dates, claims_values, claims_sums, claims_sources ·
record, ledger, claims_given, findings · files, targets, substitutes, unsupported · audit · sources, auditing. plain_answers is loaded with every session: what is no
answer to be compared needs none of the others.
"""
