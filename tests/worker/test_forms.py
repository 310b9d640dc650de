"""Values of any usual type as arguments and as results, in and out."""

import dataclasses
import enum
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any, TypedDict

import attrs
import msgspec
import pydantic
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


class Model(pydantic.BaseModel):
    name: str
    # Models read a member by its alias.
    when: date | None = pydantic.Field(default=None, alias="on")


class Ticket(pydantic.BaseModel):
    """Has a form of its own, which is used instead of pydantic's."""

    number: int


@attrs.define
class Parcel:
    weight: Decimal
    tags: set[str]


class Day(enum.IntEnum):
    MONDAY = 1


class Address(TypedDict):
    city: str


class Nested(msgspec.Struct):
    where: PurePosixPath
    model: Model
    parcels: dict[str, Parcel] = {}


add_form(
    Fraction, write=lambda one: [one.numerator, one.denominator], read=lambda two: Fraction(*two)
)
add_form(Ticket, write=lambda one: f"T{one.number}", read=lambda text: Ticket(number=int(text[1:])))
VALUES: list[Any] = [
    Colour.RED,
    Day.MONDAY,
    Point(1),
    Size(2),
    Model(name="ada", on=date(2030, 1, 31)),
    Ticket(number=7),
    Parcel(Decimal("1.5"), {"a", "b"}),
    Nested(PurePosixPath("a/b"), Model(name="bob"), {"c": Parcel(Decimal(2), set())}),
    uuid.uuid4(),
    Decimal("1.50"),
    date(2030, 1, 31),
    datetime(2030, 1, 31, tzinfo=UTC),
    timedelta(minutes=5),
    PurePosixPath("/tmp/file"),
    Path("file"),
    Fraction(2, 3),
    time(12, 30),
    b"\x00\xff",
]
# Values whose class is not enough to read them, with the hint that they need.
HINTED: list[tuple[Any, Any]] = [
    *((type(value), value) for value in VALUES),
    (frozenset[int], frozenset({1, 2})),
    (set[Colour], {Colour.RED}),
    (list[Model], [Model(name="ada")]),
    (dict[str, uuid.UUID], {"a": uuid.UUID(int=7)}),
    (tuple[date, Point], (date(2030, 1, 31), Point(1))),
    (Address, {"city": "Berlin"}),
    (Model | None, None),
    (Model | None, Model(name="ada")),
]


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    async with serve() as running:
        yield running


@pytest.mark.parametrize("place", ["loop", "thread"])
async def test_values_go_in_and_come_out_as_they_are(server: Server, place: str) -> None:
    worker = Worker(transport=AsgiTransport(Application(server)), concurrency=20)
    seen: dict[str, Any] = {}
    jobs = []
    for number, (kind, value) in enumerate(HINTED):

        async def in_loop(value: Any, name: str) -> Any:
            seen[name] = value
            return value

        def in_thread(value: Any, name: str) -> Any:
            seen[name] = value
            return value

        handler: Any = in_loop if place == "loop" else in_thread
        handler.__annotations__ |= {"value": kind, "return": kind}
        jobs.append(await worker.job(f"echo.v{number}")(handler).enqueue(value, str(number)))
    async with worker:
        for number, (kind, value) in enumerate(HINTED):
            result = await jobs[number].result(timeout_s=30)
            assert result == seen[str(number)] == value
            assert type(result) is type(seen[str(number)]) is type(value)
            assert await worker.client.result(jobs[number], type=kind) == value
        with pytest.raises(UnexpectedAnswer, match="the result is no Size"):
            await worker.client.result(jobs[0], type=Size)


async def test_what_a_model_refuses_fails_the_job_with_its_reason(server: Server) -> None:
    worker = Worker(transport=AsgiTransport(Application(server)))

    @worker.job("a.b")
    async def handler(model: Model) -> None: ...

    async with worker:
        job = await worker.client.enqueue("a.b", [{"name": 3}])
        error = (await job.wait(timeout_s=30)).error
    assert (error["type"], error["details"]["argument"]) == ("InvalidArguments", "model")
    assert "valid string" in error["message"]


async def test_what_nobody_can_write_is_told(server: Server) -> None:
    async with Client(transport=AsgiTransport(Application(server))) as client:
        with pytest.raises(InvalidRequest, match="objects of type object is unsupported"):
            await client.enqueue("a.b", [object()])
