"""Which calls need a person: rules as data, and the paths, hosts and payloads that they speak of.

Files, each using only those before it: hosts, sensitive, paths, risks · conditions, policy ·
danger.
"""
