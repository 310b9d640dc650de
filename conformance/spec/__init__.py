"""What spec authors need: the clauses, which cases cover them, and whether all of it agrees."""
