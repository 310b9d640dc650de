"""The store for several nodes: one PostgreSQL database, versions 15 to 18."""
