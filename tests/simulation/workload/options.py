"""Draw the options of jobs: each scenario has a taste of its own."""

from collections.abc import Mapping
from typing import Any, Final

from tests.simulation.workload.times import Drawing

QUEUES: Final = ("default", "other")
# The limits of a key are always the same, so that it is known what must hold.
RATE_LIMITS: Final[Mapping[str, dict[str, Any]]] = {
    "one": {"concurrency": 1},
    "three": {"concurrency": 3},
    "rate": {"rate": 4, "period": 5},
    "even": {"throttle": 3, "period": 6},
    "both": {"concurrency": 2, "rate": 6, "period": 8},
}
UNIQUE: Final[tuple[dict[str, Any], ...]] = (
    {"keys": ["type", "args"]},
    {"keys": ["type", "queue"], "meta_keys": ["u"]},
    {"meta_keys": ["u"]},
)
STATES: Final = (
    None,
    ["available", "scheduled"],
    ["available", "active", "scheduled", "retryable", "pending", "completed"],
    ["active", "available", "retryable"],
)


class Taste:
    """The shares of jobs that have each option in this scenario."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        self._share = {
            name: drawing.some(0.0, 0.1, 0.4)
            for name in (
                "retry",
                "unique",
                "rate_limit",
                "delay",
                "priority",
                "expires_in",
                "timeout",
                "visibility_timeout",
                "pending",
                "tags",
                "other",
                "manner",
                "fails",
            )
        }
        self._longest = drawing.some(2.0, 10.0, 40.0)

    def job(self, at: float, key: str) -> dict[str, Any]:
        """Draw a job: its type, arguments and options."""
        drawing = self._drawing
        seconds = round(drawing.chance.random() ** 3 * self._longest, 3)
        fails = drawing.some(1, 1, 2, 3, 9) if self._has("fails") else 0
        args: list[Any] = [key, seconds, fails]
        if self._has("manner"):
            args.append(self._manner())
        options: dict[str, Any] = {"id": drawing.new_id(at)}
        if self._has("other"):
            options["queue"] = "other"
        if self._has("priority"):
            options["priority"] = drawing.some(-3, 0, 1, 5)
        if self._has("delay"):
            options["delay"] = round(drawing.chance.random() ** 2 * 40, 3)
        if self._has("retry"):
            options["retry"] = self._retry()
        if self._has("expires_in"):
            options["expires_in"] = drawing.some(0.5, 3, 20, 60)
        if self._has("timeout"):
            options["timeout"] = drawing.some(1, 4, 15)
            if drawing.maybe(0.5):
                options["grace_period"] = drawing.some(1, 5)
        if self._has("visibility_timeout"):
            options["visibility_timeout"] = drawing.some(3, 8, 20, 60)
        if self._has("pending"):
            options["pending"] = True
        if self._has("tags"):
            options["tags"] = [drawing.some("red", "blue")]
        if self._has("rate_limit"):
            name = drawing.some(*RATE_LIMITS)
            options["rate_limit"] = {
                "key": name,
                **RATE_LIMITS[name],
                "on_limit": drawing.some("wait", "wait", "wait", "reschedule", "drop"),
            }
        if self._has("unique"):
            options |= self._unique()
            if options["unique"].get("keys") == ["type", "args"]:
                args = [f"same{drawing.some(1, 2, 3)}", 2.5, 0]
        return {"type": drawing.some("work", "work", "work", "block"), "args": args} | {
            "options": options
        }

    def _has(self, name: str) -> bool:
        return self._drawing.maybe(self._share[name])

    def _manner(self) -> dict[str, Any]:
        drawing = self._drawing
        manner: dict[str, Any] = {
            "end": drawing.some("retry", "error", "discard", "dead letter", "snooze")
        }
        if manner["end"] == "snooze":
            manner["snooze_s"] = drawing.some(0.2, 2, 10)
        if drawing.maybe(0.3):
            manner["checkpoints"] = drawing.some(1, 3)
        if drawing.maybe(0.3):
            manner["stubborn_s"] = drawing.some(1, 10)
        return manner

    def _retry(self) -> dict[str, Any]:
        drawing = self._drawing
        policy: dict[str, Any] = {
            "max_attempts": drawing.some(1, 2, 3, 5),
            "initial_interval": drawing.some(0.1, 0.5, 2),
            "max_interval": drawing.some(5, 20),
            "jitter": drawing.maybe(0.5),
            "backoff_strategy": drawing.some("exponential", "linear", "constant", "polynomial"),
        }
        if drawing.maybe(0.2):
            policy["non_retryable_errors"] = [
                drawing.some("ValueError", "worker_death", "visibility_timeout", "Rude")
            ]
        if drawing.maybe(0.3):
            policy["on_exhaustion"] = "dead_letter"
        return policy

    def _unique(self) -> dict[str, Any]:
        drawing = self._drawing
        unique = {
            **drawing.some(*UNIQUE),
            "on_conflict": drawing.some("reject", "ignore", "replace", "replace_except_schedule"),
        }
        if (states := drawing.some(*STATES)) is not None:
            unique["states"] = states
        if drawing.maybe(0.3):
            unique["period"] = drawing.some(5, 30)
        return {"unique": unique, "meta": {"u": drawing.some(1, 2)}}
