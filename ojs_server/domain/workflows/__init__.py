"""Rules of workflows: requests, plans, states and results."""
