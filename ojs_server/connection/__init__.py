"""HTTP/1.1 and WebSocket connections, below the handlers."""
