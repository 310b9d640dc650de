"""The wire format shared by the server and the worker SDK; no I/O, no clock."""
