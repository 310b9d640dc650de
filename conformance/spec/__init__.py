"""Tools of spec authors: the clauses, the cases that cover them, and checks that they agree."""
