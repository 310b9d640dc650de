"""Calls of webhook targets over HTTP."""
