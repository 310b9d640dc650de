"""Defects of published cases, and the edits that mend them."""
