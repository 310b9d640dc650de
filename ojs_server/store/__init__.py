"""Persistence: one store contract, and its implementations for SQLite and PostgreSQL."""
