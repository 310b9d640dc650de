"""Rules of the job manager."""
