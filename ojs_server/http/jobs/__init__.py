"""Calls on jobs."""
