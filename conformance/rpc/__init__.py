"""Clients of gRPC for cases.

    client.py        calls and streams, whose messages are JSON
    messages.binpb   the services and messages, which `make proto` keeps here

Needs the extra `grpc`, and is loaded only by cases that call.
"""

from importlib.util import find_spec

if not all(map(find_spec, ("grpc", "google.protobuf", "google.rpc"))):
    raise ImportError("gRPC is not installed: pip install 'ojs-reference[grpc]'")
