"""The server itself: manifest, health, metrics and dashboard."""
