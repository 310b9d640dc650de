"""A job server for the Open Job Spec, on SQLite or PostgreSQL."""

__version__ = "0.1.0"
