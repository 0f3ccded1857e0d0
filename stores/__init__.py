"""Where sessions are kept: records, the Store protocol, and the stores.

This room owns the stored form of everything and the rules of what may be written when. It decides
nothing about a session: it keeps records, refuses stale writers, and says what it cannot read.
Files, each using only those before it: liveness, overlay · decisions · records · errors, writes · base · evolution, encoding ·
rules · loads, lists, shares, gauge, room · memory_data, memory_write, memory ·
channel · sqlite_tally, sqlite_schema, sqlite_places, sqlite_journal, sqlite_heads, sqlite_loading, sqlite_pack, sqlite_batch, sqlite_inbox,
sqlite_warnings, sqlite_write, sqlite_names, sqlite · open.

``workspace`` stands alone: snapshots of working directories.
"""

from .base import Store, StoreHealth
from .memory import MemoryStore
from .open import open_store
from .sqlite import Durability, SqliteStore

__all__ = ["Durability", "MemoryStore", "SqliteStore", "Store", "StoreHealth", "open_store"]
