"""Forms of events in streams."""
