"""Rules of workers: their states, and the jobs that they can take."""
