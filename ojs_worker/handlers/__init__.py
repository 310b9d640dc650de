"""Handlers: how they are registered, called with a job's arguments, and what they may use."""
