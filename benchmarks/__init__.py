"""Measurements of the real server on a fresh store: run by hand, judged by ratios of one run."""
