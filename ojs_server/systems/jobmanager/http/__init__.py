"""Calls of the job manager's clients."""
