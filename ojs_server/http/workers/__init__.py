"""Calls of workers."""
