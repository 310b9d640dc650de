"""The command `ojs`: everything a person does with a server of Open Job Spec from a terminal."""
