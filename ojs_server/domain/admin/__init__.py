"""Rules of operation: maintenance, statistics and the action log."""
