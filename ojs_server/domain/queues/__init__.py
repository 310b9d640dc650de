"""Rules of queues: their configuration."""
