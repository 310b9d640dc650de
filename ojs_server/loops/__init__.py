"""What runs beside the requests; every loop is safe to run on every node at once."""
