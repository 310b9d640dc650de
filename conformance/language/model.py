"""The published case format as typed structs, informational keys included."""

from typing import Annotated, Any

from msgspec import Meta, Raw, Struct

from conformance.language.wrapper import Unwrap

EXTENSION_LEVEL = 99

Milliseconds = Annotated[float, Meta(ge=0)]
Place = tuple[str | int, ...]  # names of members and numbers of items, from the outside in


class Timing(Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds on the time from sending a request to its response headers, in milliseconds."""

    less_than: float | None = None
    greater_than: float | None = None
    approximate: float | None = None


class ExclusiveClaim(Struct, frozen=True, forbid_unknown_fields=True):
    """Of several fetch results, exactly one may hold the job and exactly one be empty."""

    job_id: str
    fetches: list[Any]
    exactly_one_has_job: bool = False
    exactly_one_empty: bool = False


class Assertions(Struct, frozen=True, kw_only=True):
    """The assertions of a step about its answer, or of an ASSERT step about earlier answers."""

    status: Any = None
    status_in: list[int] | None = None
    status_one_of: list[int] | None = None
    body: dict[str, Any] | None = None
    body_absent: list[str] | None = None
    body_contains: list[str] | None = None
    body_raw: Any = None
    headers: dict[str, Any] | None = None
    timing_ms: Timing | None = None
    exclusive_claim: ExclusiveClaim | None = None
    equality: dict[str, Any] | None = None


ANSWER_CHECKS = (
    "status",
    "status_in",
    "status_one_of",
    "body",
    "body_absent",
    "body_contains",
    "headers",
    "timing_ms",
)
CROSS_STEP_CHECKS = ("exclusive_claim", "equality")


class Step(Struct, frozen=True, kw_only=True):
    """One request, wait or cross-step check."""

    action: str
    id: str = ""
    intent: str = ""
    description: str = ""
    path: str | None = None
    headers: dict[str, str] = {}
    body: Raw = Raw()
    raw_body: str | None = None
    delay_ms: Milliseconds = 0
    duration_ms: Milliseconds = 0
    parallel_with: str | None = None
    repeat: Annotated[int, Meta(ge=1)] = 1
    assertions: Assertions | None = None
    capture: dict[str, str] = {}
    captures: dict[str, str] = {}
    # Set by the translation from other dialects: whether paths look into the wrapper `job`.
    unwrap: Unwrap = ""

    @property
    def body_json(self) -> str:
        """The JSON text of the body as the case spells it, empty when there is none."""
        text = bytes(self.body).decode()
        return "" if text == "null" else text

    @property
    def all_captures(self) -> dict[str, str]:
        """Variable name to path, under either spelling of the key."""
        return {**self.capture, **self.captures}


class Section(Struct, frozen=True):
    """The steps before or after those under test."""

    steps: tuple[Step, ...] = ()
    description: str = ""


class Case(Struct, frozen=True, kw_only=True):
    """One case file."""

    test_id: str
    steps: tuple[Step, ...]
    level: int | str = 0
    category: str = ""
    name: str = ""
    description: str = ""
    spec_ref: Any = ""
    tags: list[str] = []
    setup: Section = Section()
    teardown: Section = Section()
    preconditions: Any = None
    deprecated: bool = False
    deprecated_reason: str = ""
    clauses: tuple[str, ...] = ()  # of this suite or of the author; published cases have none

    @property
    def all_steps(self) -> tuple[Step, ...]:
        """Every step of the file in the order of running."""
        return tuple(step for _, step in self.placed_steps)

    @property
    def placed_steps(self) -> tuple[tuple[Place, Step], ...]:
        """Every step of the file in the order of running, each with its place."""
        sections: tuple[tuple[Place, tuple[Step, ...]], ...] = (
            (("setup", "steps"), self.setup.steps),
            (("steps",), self.steps),
            (("teardown", "steps"), self.teardown.steps),
        )
        return tuple(
            ((*above, number), step)
            for above, steps in sections
            for number, step in enumerate(steps)
        )


class Problem(Struct, frozen=True):
    """A reason why a case cannot be judged, and where it is in the file, as far as known."""

    text: str
    at: Place = ()
    line: int = 0  # known instead of a place if the file is no JSON


class CaseFile(Struct, frozen=True, kw_only=True):
    """A file found in a suite: a case that can be run, or the problems that forbid it."""

    path: str
    test_id: str
    level: int | None
    case: Case | None = None
    faults: tuple[Problem, ...] = ()
    suite: str = ""  # the folder below the given one, such as `level-1-reliable`
    dialect: str = "A"
    raw: Raw = Raw()  # the file as it is, for the published runner's own reading of it

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems in plain words."""
        return tuple(fault.text for fault in self.faults)


def level_number(level: object) -> int | None:
    """Return the level as a number, 99 for an extension, None when it is neither."""
    if isinstance(level, str):
        if level in ("ext", "extension"):
            return EXTENSION_LEVEL
        return int(level) if level.isdecimal() else None
    return level if isinstance(level, int) and not isinstance(level, bool) else None
