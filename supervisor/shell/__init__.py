"""Shell commands read as a shell would, to say what they may do; when unsure, that is said.

Files, each using only those before it: syntax, words, lines, parser, expand, names ·
calls · files, archives, editing, python, code, databases, wrappers, tables, subcommands, network, git, packages, machine · risks.
"""
