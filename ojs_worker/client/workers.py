"""Calls of a client about workers, named as in the command line."""

from typing import Literal

from ojs_worker.client.calls import Call, Json
from ojs_worker.client.surface import Group, M, Pages, get_json, listing, method, send_json, url


class Workers(Group[M]):
    """Worker processes: list them, and send them directives."""

    @listing
    @staticmethod
    def list(
        *,
        state: str | None = None,
        presence: str | None = None,
        queue: str | None = None,
        label: str | None = None,
    ) -> Pages[Json]:
        """Iterate over workers, newest first."""
        query = {"state": state, "presence": presence, "queue": queue, "label": label}
        return Pages(url("workers"), query, ("workers", "items"), dict)

    @listing
    @staticmethod
    def online(*, state: str | None = None) -> Pages[Json]:
        """Iterate over the workers that are online, newest first."""
        return Pages(url("workers", "online"), {"state": state}, ("workers", "items"), dict)

    @method
    @staticmethod
    def get(worker_id: str) -> Call[Json]:
        """Read a worker."""
        return get_json(url("workers", worker_id))

    @method
    @staticmethod
    def health(worker_id: str) -> Call[Json]:
        """Read the health of a worker."""
        return get_json(url("workers", worker_id, "health"))

    @method
    @staticmethod
    def capabilities(worker_id: str) -> Call[Json]:
        """Read the job kinds that a worker runs."""
        return get_json(url("workers", worker_id, "capabilities"))

    @method
    @staticmethod
    def jobs(worker_id: str, *, status: str | None = None) -> Call[Json]:
        """Read the jobs of a worker."""
        return get_json(url("workers", worker_id, "jobs", status=status))

    @method
    @staticmethod
    def quiet(worker_id: str) -> Call[Json]:
        """Tell a worker to take no more jobs."""
        return send_json("POST", url("admin", "workers", worker_id, "quiet"), {})

    @method
    @staticmethod
    def resume(worker_id: str) -> Call[Json]:
        """Tell a worker to take jobs again."""
        return send_json("POST", url("admin", "workers", worker_id, "resume"), {})

    @method
    @staticmethod
    def terminate(worker_id: str) -> Call[Json]:
        """Tell a worker to end."""
        return send_json("POST", url("admin", "workers", worker_id, "terminate"), {})

    @method
    @staticmethod
    def direct_all(directive: Literal["quiet", "resume", "terminate"]) -> Call[Json]:
        """Give all workers the same directive."""
        return send_json("POST", url("admin", "workers", "directive"), {"directive": directive})

    @method
    @staticmethod
    def delete(worker_id: str, *, action: str | None = None) -> Call[Json]:
        """Delete a worker; `action` decides about its jobs."""
        return send_json("DELETE", url("workers", worker_id, action=action), repeatable=False)

    @method
    @staticmethod
    def remove(worker_id: str) -> Call[Json]:
        """Remove a worker from the list, as an operator."""
        return send_json("DELETE", url("admin", "workers", worker_id), repeatable=False)

    @method
    @staticmethod
    def clean_up() -> Call[Json]:
        """Delete the workers that were gone for long."""
        return send_json("POST", url("workers", "cleanup"), {})

    @method
    @staticmethod
    def clean_up_offline() -> Call[Json]:
        """Delete all workers that are offline."""
        return send_json("POST", url("workers", "cleanup-offline"), {})
