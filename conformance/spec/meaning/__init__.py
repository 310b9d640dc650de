"""Comparisons of meaning: what one place says against what another says of the same."""
