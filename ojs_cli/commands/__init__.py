"""The commands, a module for each noun; it is loaded when the noun is asked for."""
