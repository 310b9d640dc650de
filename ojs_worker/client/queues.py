"""Calls of a client about queues and rate limits, named as in the command line."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ojs_wire.codec import encode
from ojs_worker.client.calls import Call, Json, answer_as
from ojs_worker.client.surface import Group, M, Pages, get_json, listing, method, send_json, url
from ojs_worker.transport import Request

_object = msgspec.json.Decoder(Json)


class Queues(Group[M]):
    """Queues, and their settings."""

    @listing
    @staticmethod
    def list() -> Pages[Json]:
        """Iterate over the queues, by name."""
        return Pages(url("queues"), {}, ("queues", "items"), dict)

    @method
    @staticmethod
    def get(queue: str) -> Call[Json]:
        """Read a queue's depth, and whether it is paused."""
        return get_json(url("queues", queue))

    @method
    @staticmethod
    def create(queue: str, **config: Any) -> Call[Json]:
        """Create a queue with its settings."""
        body = {"name": queue, "config": config or None}
        return send_json("POST", url("queues"), body, repeatable=False)

    @method
    @staticmethod
    def delete(
        queue: str, *, strategy: str | None = None, target_queue: str | None = None
    ) -> Call[Json]:
        """Delete a queue; `strategy` decides about its jobs."""
        body = {"strategy": strategy, "target_queue": target_queue}
        return send_json("DELETE", url("queues", queue), body, repeatable=False)

    @method
    @staticmethod
    def stats(queue: str) -> Call[Json]:
        """Count the jobs of a queue by state, and how many were done."""
        return get_json(url("queues", queue, "stats"))

    @method
    @staticmethod
    def priority_stats(queue: str) -> Call[Json]:
        """Count the jobs of a queue that wait, by priority."""
        return get_json(url("queues", queue, "priority-stats"))

    @method
    @staticmethod
    def pause(queue: str) -> Call[Json]:
        """Pause a queue."""
        return send_json("POST", url("queues", queue, "pause"), {})

    @method
    @staticmethod
    def resume(queue: str) -> Call[Json]:
        """Resume a queue."""
        return send_json("POST", url("queues", queue, "resume"), {})

    @method
    @staticmethod
    def config(queue: str) -> Call[Json]:
        """Read the settings of a queue."""
        return get_json(url("queues", queue, "config"))

    @method
    @staticmethod
    def set_config(queue: str, **config: Any) -> Call[Json]:
        """Replace the settings of a queue."""
        return send_json("PUT", url("queues", queue, "config"), config)

    @method
    @staticmethod
    def change_config(queue: str, **config: Any) -> Call[Json]:
        """Change the named settings of a queue; one that is None returns to its default."""
        path = url("queues", queue, "config")
        return Call(Request("PATCH", path, encode(config)), lambda reply: answer_as(reply, _object))

    @method
    @staticmethod
    def set_rate_limit(queue: str, **limit: Any) -> Call[Json]:
        """Limit the rate at which jobs of a queue are handed out."""
        return send_json("PUT", url("queues", queue, "rate-limit"), limit)

    @method
    @staticmethod
    def purge(
        queue: str, *, states: Sequence[str] | None = None, older_than: str | None = None
    ) -> Call[Json]:
        """Delete the jobs of a queue, in these states."""
        body = {"confirm": True, "states": states, "older_than": older_than}
        return send_json("DELETE", url("queues", queue, "jobs"), body, repeatable=False)


class RateLimits(Group[M]):
    """Rate limits that jobs share by a key."""

    @listing
    @staticmethod
    def list() -> Pages[Json]:
        """Iterate over the rate limits, by key."""
        return Pages(url("rate-limits"), {}, ("items", "rate_limits"), dict)

    @method
    @staticmethod
    def get(key: str) -> Call[Json]:
        """Read a rate limit and the jobs that wait for it."""
        return get_json(url("rate-limits", key))

    @method
    @staticmethod
    def override(key: str, **limit: Any) -> Call[Json]:
        """Override the limits that jobs bring for a key."""
        return send_json("PUT", url("rate-limits", key), limit)

    @method
    @staticmethod
    def restore(key: str) -> Call[Json]:
        """Remove the override of a key."""
        return send_json("DELETE", url("rate-limits", key))
