"""The modules of messages are those that the .proto files make."""

from importlib import resources
from pathlib import Path

from grpc_tools import protoc

import conformance.rpc
import ojs_server.grpc.proto

KEPT_BY_THE_JUDGE = Path(conformance.rpc.__file__).parent / "messages.binpb"
PLACE = Path(ojs_server.grpc.proto.__file__).parent


def test_the_modules_of_messages_are_current(tmp_path: Path) -> None:
    sources = sorted(PLACE.glob("*.proto"))
    assert sources
    code = protoc.main(
        [
            "protoc",
            f"--proto_path={PLACE}",
            f"--proto_path={resources.files('grpc_tools') / '_proto'}",
            f"--python_out={tmp_path}",
            f"--pyi_out={tmp_path}",
            "--include_imports",
            f"--descriptor_set_out={tmp_path / KEPT_BY_THE_JUDGE.name}",
            *map(str, sources),
        ]
    )
    assert code == 0
    made = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    kept = {file.name: file.read_bytes() for file in (*PLACE.glob("*_pb2.py*"), KEPT_BY_THE_JUDGE)}
    assert kept == made, "run `make proto`"
