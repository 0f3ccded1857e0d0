"""The way back to an earlier checkpoint: snapshots around calls, preview, journaled restore.

Files, each using only those before it: rollback · rolling_files · snapshots · rolling · rollbacks.
"""
