"""Use cases: read, let the domain decide, write. The only code that knows domain and store."""
