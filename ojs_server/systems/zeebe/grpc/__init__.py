"""Zeebe's gateway at the gRPC port; needs the extra `grpc`."""

# Says how to get the extra.
import ojs_server.grpc  # noqa: F401
