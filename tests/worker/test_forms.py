"""Values of any usual type as arguments and as results, in and out."""

import dataclasses
import enum
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

import msgspec
import pytest

from ojs_server.app import Application, Server
from ojs_worker import Client, InvalidRequest, Worker, add_form
from ojs_worker.errors import UnexpectedAnswer
from ojs_worker.testing import AsgiTransport
from tests.http.conftest import Serve


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int


class Size(msgspec.Struct):
    width: int


class Model:
    """Reads and writes itself, as pydantic's models do."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @classmethod
    def model_validate(cls, value: Any) -> "Model":
        if not isinstance(value, dict):
            raise ValueError("a model is an object")
        return cls(value["name"])

    def model_dump(self, *, mode: str) -> dict[str, str]:
        assert mode == "json"
        return {"name": self.name}


class Nested(msgspec.Struct):
    where: PurePosixPath
    model: Model


add_form(
    Fraction, write=lambda one: [one.numerator, one.denominator], read=lambda two: Fraction(*two)
)
VALUES: list[Any] = [
    Colour.RED,
    Point(1),
    Size(2),
    Model("ada"),
    Nested(PurePosixPath("a/b"), Model("bob")),
    uuid.uuid4(),
    Decimal("1.50"),
    date(2030, 1, 31),
    datetime(2030, 1, 31, tzinfo=UTC),
    timedelta(minutes=5),
    PurePosixPath("/tmp/file"),
    Fraction(2, 3),
    frozenset({1, 2}),
]


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    async with serve() as running:
        yield running


async def test_values_go_in_and_come_out_as_they_are(server: Server) -> None:
    worker = Worker(transport=AsgiTransport(Application(server)), concurrency=20)
    seen: dict[str, Any] = {}
    jobs = {}
    for number, value in enumerate(VALUES):
        kind = type(value) if not isinstance(value, frozenset) else frozenset[int]

        async def handler(value: Any, name: str) -> Any:
            seen[name] = value
            return value

        handler.__annotations__["value"] = kind
        made = worker.job(f"echo.v{number}")(handler)
        jobs[number, kind] = await made.enqueue(value, str(number))
    async with worker:
        for (number, kind), job in jobs.items():
            result = await worker.client.result(job, timeout_s=30, type=kind)
            assert result == seen[str(number)] == VALUES[number]
        with pytest.raises(UnexpectedAnswer, match="the result is no Size"):
            await worker.client.result(next(iter(jobs.values())), type=Size)


async def test_what_nobody_can_write_is_told(server: Server) -> None:
    async with Client(transport=AsgiTransport(Application(server))) as client:
        with pytest.raises(InvalidRequest, match="objects of type object is unsupported"):
            await client.enqueue("a.b", [object()])
