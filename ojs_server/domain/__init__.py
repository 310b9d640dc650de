"""The rules of jobs and workers: pure functions without I/O, clock or SQL."""
