"""A server for the worker under test: honest, unless a case has it misbehave."""
