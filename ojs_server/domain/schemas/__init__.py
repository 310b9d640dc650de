"""Rules of the schemas of arguments."""
