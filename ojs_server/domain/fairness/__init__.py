"""Rules of fair claims: weights, pools, and the order of tenants."""
