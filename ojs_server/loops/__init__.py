"""Background loops of the server; each is safe to run on all nodes at once."""
