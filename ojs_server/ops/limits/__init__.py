"""Limits in a transaction: rate limits, and bounds on queues."""
