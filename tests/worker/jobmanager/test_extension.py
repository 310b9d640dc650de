"""Classes and functions as jobs of a job manager: schemas, objects of payloads, and back."""

import dataclasses
from enum import Enum
from typing import Any

import msgspec
import pytest

from ojs_worker.faults import BadArguments
from ojs_worker.jobmanager import Extension
from ojs_worker.jobmanager.extension import Registered, payload_of


class Category(Enum):
    MODIFIER = "modifiers"


class Rotate(Extension):
    category = Category.MODIFIER
    angle: float
    axis: str = "z"

    def run(self, scene: list[str]) -> None:
        scene.append(f"{self.axis}{self.angle:g}")


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Plain:
    points: list[Point]

    def run(self) -> int:
        return sum(point.x for point in self.points)


class Record(msgspec.Struct):
    count: int = 1

    def run(self) -> int:
        return self.count


def measure(scene: str, /, unit: str = "mm", *, places: int = 2) -> str:
    return f"{scene}{unit}{places}"


def test_fields_are_parameters_and_run_is_given_the_programs_own_objects() -> None:
    job, scene = Registered(Rotate), list[str]()
    job.build({"angle": 90}).run(scene)
    assert (job.category, job.name, scene) == ("modifiers", "Rotate", ["z90"])
    assert job.schema["properties"] == {
        "angle": {"type": "number"},
        "axis": {"type": "string", "default": "z"},
    }
    assert job.schema["required"] == ["angle"]


@pytest.mark.parametrize(
    ("target", "payload", "answer"),
    [(Plain, {"points": [{"x": 2}, {"x": 3}]}, 5), (Record, {}, 1), (Record, {"count": 4}, 4)],
)
def test_any_class_that_runs_will_do(target: Any, payload: Any, answer: int) -> None:
    job = Registered(target)
    assert job.build(payload).run() == answer
    assert job.schema["type"] == "object"


def test_a_function_keeps_what_stands_before_its_slash() -> None:
    job = Registered(measure, category="tools")
    made = job.build({"unit": "cm"})
    assert made.run("5") == "5cm2"
    assert (made.arguments, job.category) == ({"unit": "cm", "places": 2}, "tools")
    assert sorted(job.schema["properties"]) == ["places", "unit"]


@pytest.mark.parametrize("payload", [{"angle": "wide"}, {}, {"angle": 1, "angel": 2}])
def test_a_payload_that_does_not_fit_names_the_field(payload: dict[str, Any]) -> None:
    with pytest.raises(BadArguments, match=r"angle|angel"):
        Registered(Rotate).build(payload)


@pytest.mark.parametrize("wrong", [7, object])
def test_what_cannot_be_a_job_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"neither|needs a method"):
        Registered(wrong)


@pytest.mark.parametrize("made", [Rotate(1.5, "x"), Record(3)])
def test_an_object_is_its_own_payload(made: Any) -> None:
    assert Registered(type(made)).build(payload_of(made)) == made
