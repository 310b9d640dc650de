"""Language of the published cases: their format, its dialects, paths, templates and matchers."""
