"""Several worker processes, kept running by one that does no jobs itself."""
