"""Verdicts on cases: checks, assertions, the contract, and the results that follow from them."""
