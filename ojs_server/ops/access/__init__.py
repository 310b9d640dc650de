"""Operations on the sessions of people."""
