"""The parts of the store contract that are the same in both stores, one file for each subject."""
