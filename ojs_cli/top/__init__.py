"""`ojs top`: queues, workers and failures on one screen, live, with keys that repair."""
