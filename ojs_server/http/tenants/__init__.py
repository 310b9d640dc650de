"""Calls on tenants."""
