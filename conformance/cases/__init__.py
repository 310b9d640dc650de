"""The judge's own cases, one module a topic of the specification."""
