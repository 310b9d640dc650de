"""The engine: operations are committed in groups, and reads run in threads."""
