"""Checks of a folder of specification texts in Markdown that are not written as clauses."""
