"""Measurements, and what their figures may be at most: `python -m benchmarks.budgets`."""
