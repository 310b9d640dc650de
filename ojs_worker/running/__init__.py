"""A worker while it runs: fetch, execute, settle, beat, and end."""
