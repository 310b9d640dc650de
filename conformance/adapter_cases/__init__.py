"""Cases of framework adapters, a module for each subject."""
