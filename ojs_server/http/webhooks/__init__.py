"""Calls on webhooks."""
