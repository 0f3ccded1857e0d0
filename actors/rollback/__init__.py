"""The way back to an earlier checkpoint: snapshots around calls, preview, journaled restore.

Files, each using only those before it: windows · rollback · notes · rolling_files · snapshots · rolling · rollbacks.
"""
