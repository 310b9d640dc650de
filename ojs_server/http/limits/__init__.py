"""Calls on rate limits."""
