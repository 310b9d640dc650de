"""Where jobs are kept: one contract, `base.py`, and two stores that fulfil it alike."""
