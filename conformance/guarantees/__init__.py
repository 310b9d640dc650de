"""Guarantees of a backend, counted by kills: what survives, and what is delivered twice."""
