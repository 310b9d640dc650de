"""Events over HTTP: the log, event streams and the WebSocket."""
