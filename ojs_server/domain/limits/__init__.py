"""Rules of rate limits."""
