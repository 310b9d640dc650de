"""Measurements of the real server on a fresh store: run by hand, judged by ratios in one run."""
