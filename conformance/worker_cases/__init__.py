"""The cases of workers, one module a subject."""
