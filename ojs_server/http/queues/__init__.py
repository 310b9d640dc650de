"""Calls on queues."""
