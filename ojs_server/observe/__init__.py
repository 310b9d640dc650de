"""Metrics, log lines and counted warnings of a running server."""
