"""Processes that the suite starts: servers and workers under test, and their ports."""
