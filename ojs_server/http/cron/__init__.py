"""Calls on cron entries."""
