"""Shell commands read as a shell would, to say what they may do; when unsure, that is said.

Files, each using only those before it: syntax, words, parser, expand, names · calls · files,
network, code, databases, wrappers, tables, subcommands, git, packages, machine · risks.
"""
