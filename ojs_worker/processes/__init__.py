"""Child processes that do the CPU-bound jobs of one worker."""
