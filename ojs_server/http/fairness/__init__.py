"""Calls on pools and shares."""
