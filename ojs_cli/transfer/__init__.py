"""Export and import of jobs as lines of JSON; after a kill, one step is repeated."""
