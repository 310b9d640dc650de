"""Fair claims of jobs."""
