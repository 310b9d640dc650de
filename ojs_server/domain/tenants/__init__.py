"""Rules of tenants: their limits and their names."""
