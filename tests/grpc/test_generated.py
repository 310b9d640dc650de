"""The modules of messages are those that the .proto files make."""

from importlib import resources
from pathlib import Path

from grpc_tools import protoc

import conformance.rpc
from ojs_server.grpc import proto as ojs_v1
from ojs_server.systems.zeebe.grpc import proto as zeebe

KEPT_BY_THE_JUDGE = Path(conformance.rpc.__file__).parent / "messages.binpb"
PLACES = [Path(package.__path__[0]) for package in (ojs_v1, zeebe)]
SOURCES = [source for place in PLACES for source in sorted(place.glob("*.proto"))]
INCLUDED = Path(str(resources.files("grpc_tools") / "_proto"))


def make(*options: str, sources: list[Path], places: list[Path]) -> None:
    paths = [f"--proto_path={place}" for place in (*places, INCLUDED)]
    assert protoc.main(["protoc", *paths, *options, *map(str, sources)]) == 0


def test_the_modules_of_messages_are_current(tmp_path: Path) -> None:
    for place in PLACES:
        sources = sorted(place.glob("*.proto"))
        assert sources
        made = tmp_path / place.parts[-3]
        made.mkdir()
        make(f"--python_out={made}", f"--pyi_out={made}", sources=sources, places=[place])
        kept = {file.name: file.read_bytes() for file in place.glob("*_pb2.py*")}
        assert kept == {file.name: file.read_bytes() for file in made.iterdir()}, "run `make proto`"


def test_the_messages_that_the_judge_keeps_are_current(tmp_path: Path) -> None:
    file = tmp_path / KEPT_BY_THE_JUDGE.name
    made = f"--descriptor_set_out={file}"
    make("--include_imports", made, sources=SOURCES, places=PLACES)
    assert file.read_bytes() == KEPT_BY_THE_JUDGE.read_bytes(), "run `make proto`"
