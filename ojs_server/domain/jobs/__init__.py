"""Rules of jobs: their states, options, retries, deadlines and records."""
