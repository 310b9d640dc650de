"""A model of workflows, computed from its request and the ends of its jobs alone
(spec/22-workflows.md): which steps run, how it ends, and which results a step is given."""

from collections.abc import Iterator
from typing import Any

import msgspec

# Outcomes of a step: it never ran, or ended well or not, or has not ended.
NEVER, WELL, BADLY, OPEN = "never", "well", "badly", "open"


class StepEnd(msgspec.Struct, frozen=True):
    """The job of a step: when it was made, how its step ended and when, and its result."""

    job_id: str
    made: int
    outcome: str
    ended: int
    result: Any


class Step:
    """A job, or a workflow with members and callbacks."""

    def __init__(self, body: dict[str, Any], scope: "Step | None", needs: tuple[int, ...]) -> None:
        self.scope = scope
        # Places among the members of its scope.
        self.needs = needs
        self.fires: str | None = None
        self.key: str | None = body["args"][0] if "args" in body else None
        self.kind: str | None = None if self.key else body.get("type", "dag")
        self.members: list[Step] = []
        self.callbacks: list[Step] = []
        if self.key is None:
            self._fill(body)

    def _fill(self, body: dict[str, Any]) -> None:
        bodies = body["members"] if "members" in body else body["steps"]
        names = {member.get("id"): place for place, member in enumerate(bodies)}
        needs: tuple[int, ...]
        for place, member in enumerate(bodies):
            if self.kind == "chain":
                needs = (place - 1,) if place else ()
            else:
                needs = tuple(names[name] for name in member.get("depends_on", ()))
            self.members.append(Step(member, self, needs))
        for name, callback in body.get("callbacks", {}).items():
            made = Step(callback, self, tuple(range(len(bodies))))
            made.fires = name
            self.callbacks.append(made)

    @property
    def parts(self) -> "list[Step]":
        """Members and callbacks."""
        return [*self.members, *self.callbacks]

    def leaves(self) -> "Iterator[Step]":
        """Yield the jobs in this step."""
        if self.key is not None:
            yield self
        for part in self.parts:
            yield from part.leaves()


class Course:
    """The course of one workflow: outcomes by step, and what is wrong with them."""

    def __init__(self, root: Step, ends: dict[str, StepEnd]) -> None:
        self.root = root
        self.ends = ends
        self.outcomes: dict[Step, str] = {}
        self.wrongs: list[str] = []
        self.outcome = self._run(root)

    def of(self, step: Step) -> StepEnd | None:
        """Return the end of a job."""
        return None if step.key is None else self.ends.get(step.key)

    def _run(self, step: Step) -> str:
        """Return the outcome of a step that has to run."""
        self.outcomes[step] = outcome = self._outcome(step)
        return outcome

    def _outcome(self, step: Step) -> str:
        if step.key is not None:
            end = self.of(step)
            if end is None:
                self.wrongs.append(f"step {step.key} was never enqueued")
                return BADLY
            if end.outcome == OPEN:
                self.wrongs.append(f"step {step.key} has not ended")
            return end.outcome
        for member in step.members:
            self._follow(member, step, self._may_run(member, step))
        well = all(self.outcomes[member] == WELL for member in step.members)
        for callback in step.callbacks:
            runs = callback.fires == "on_complete" or (callback.fires == "on_success") == well
            self._follow(callback, step, runs)
        fired = [self.outcomes[one] for one in step.callbacks if self.outcomes[one] != NEVER]
        if fired:
            well = all(outcome == WELL for outcome in fired)
        return WELL if well else BADLY

    def _may_run(self, step: Step, scope: Step) -> bool:
        return all(self.outcomes[scope.members[need]] == WELL for need in step.needs)

    def _follow(self, step: Step, scope: Step, runs: bool) -> None:
        if not runs:
            self._skip(step)
            return
        self._run(step)
        ended = [
            end.ended
            for need in step.needs
            for leaf in scope.members[need].leaves()
            if (end := self.of(leaf)) is not None
        ]
        for leaf in step.leaves():
            made = self.of(leaf)
            if made is not None and any(made.made < place for place in ended):
                self.wrongs.append(f"step {leaf.key} was enqueued before what it waits for ended")

    def _skip(self, step: Step) -> None:
        self.outcomes[step] = NEVER
        if self.of(step) is not None:
            self.wrongs.append(f"step {step.key} was enqueued, which must not run")
        for part in step.parts:
            self._skip(part)

    def counts(self) -> tuple[int, int, int]:
        """Return how many steps ended well and badly, and how many callbacks ran."""
        below = [(step, outcome) for step, outcome in self.outcomes.items() if step.scope]
        return (
            sum(outcome == WELL for _, outcome in below),
            sum(outcome == BADLY for _, outcome in below),
            sum(step.fires is not None and outcome != NEVER for step, outcome in below),
        )

    # Results.

    def given(self, step: Step) -> list[Any]:
        """Return what a step is given of earlier ones; a failed one stands as `{"error": None}`."""
        scope = step.scope
        if scope is None:
            return []
        if step.fires is not None:
            return [self.value(member) for member in scope.members]
        if not step.needs:
            return self.given(scope)
        before: dict[int, None] = {}
        found = list(step.needs)
        while found:
            place = found.pop()
            before[place] = None
            found.extend(need for need in scope.members[place].needs if need not in before)
        return [
            self.value(scope.members[place]) if place in before else None
            for place in range(max(before) + 1)
        ]

    def value(self, step: Step) -> Any:
        """Return the result of a step as others are given it (OJS-WFL-022 to 024)."""
        if step.key is not None:
            end = self.of(step)
            if end is None or self.outcomes.get(step) == NEVER:
                return None
            return end.result if end.outcome == WELL else {"error": None}
        if step.kind != "chain":
            return {str(place): self.value(member) for place, member in enumerate(step.members)}
        ran = [member for member in step.members if self.outcomes.get(member) != NEVER]
        return self.value(ran[-1]) if ran else None


def without_errors(value: Any) -> Any:
    """Return given results with the content of errors left out."""
    if isinstance(value, list):
        return [without_errors(one) for one in value]
    if isinstance(value, dict):
        if [*value] == ["error"]:
            return {"error": None}
        return {name: without_errors(one) for name, one in value.items()}
    return value
