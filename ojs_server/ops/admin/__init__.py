"""The action log of operations."""
