"""Where sessions are kept: records, the Store protocol, and the stores.

This room owns the stored form of everything and what may be written when. It decides nothing about
a session: it keeps records, refuses stale writers, and says what it cannot read. Files depend
downward in this order: records · base · evolution, encoding · rules · memory, sqlite · open ·
liveness.
"""
