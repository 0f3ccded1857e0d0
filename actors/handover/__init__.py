"""What a person gets when a session cannot go on: the dossier, its options and its words.

Files, each using only those before it: options · dossier · markdown, file, file_changes, wording ·
undo_answers, session_answers.
"""
