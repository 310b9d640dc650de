"""Operations on workflows, and their progress."""
