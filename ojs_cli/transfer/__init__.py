"""Jobs as lines of JSON, out of one server and into another; a kill costs one step."""
