"""Calls on schemas."""
