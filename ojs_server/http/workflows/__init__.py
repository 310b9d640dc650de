"""Calls on workflows."""
