"""The event log, as streams read it."""
