"""Clients of gRPC for cases, and cases of HTTP over gRPC.

    client.py        calls and streams, whose messages are JSON
    requests.py      requests of HTTP as calls of `ojs.v1`
    responses.py     answers of `ojs.v1` as those of HTTP
    binding.py       a transport of HTTP that uses gRPC for the calls it can express
    messages.binpb   the services and messages, which `make proto` keeps here

Needs the extra `grpc`, and is loaded only where gRPC is called.
"""

from importlib.util import find_spec

if not all(map(find_spec, ("grpc", "google.protobuf", "google.rpc"))):
    raise ImportError("gRPC is not installed: pip install 'ojs-reference[grpc]'")
