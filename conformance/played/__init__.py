"""The server that a worker sees while it is judged: honest, unless a case has it misbehave."""
