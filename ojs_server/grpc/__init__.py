"""The gRPC port: the calls of HTTP for clients of `ojs.v1`.

Needs the extra `grpc`, and is loaded only where the operator asks for the port.
"""

from importlib.util import find_spec

if not all(map(find_spec, ("grpc", "google.protobuf", "google.rpc"))):
    raise ImportError("gRPC is not installed: pip install 'ojs-reference[grpc]'")
