"""Shows the results of a run: to people, to build servers, to other programs."""
