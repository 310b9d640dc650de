"""Messages and services of the gRPC port; the modules are made from the .proto files."""
