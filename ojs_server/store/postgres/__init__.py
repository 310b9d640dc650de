"""The store for several nodes: one PostgreSQL database, 15 to 18, used with the same contract."""
