"""Runs of many cases: their order and isolation, and the servers and workers that they need."""
