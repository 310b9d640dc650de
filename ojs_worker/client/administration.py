"""Calls of a client to administer a server: webhooks, schemas, tenants, schedules and health."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack

from ojs_worker.client.calls import Call, Json, no_answer, path_of
from ojs_worker.client.events import Event
from ojs_worker.client.jobs import JobFilter
from ojs_worker.client.surface import Group, M, Pages, get_json, listing, method, send_json, url
from ojs_worker.job import Job
from ojs_worker.transport import Request


class EventLog(Group[M]):
    """The events that the server still stores; for new ones, use `events` of a client."""

    @listing
    @staticmethod
    def list(
        *,
        after: str | None = None,
        types: Sequence[str] | None = None,
        queues: Sequence[str] | None = None,
        job_types: Sequence[str] | None = None,
    ) -> Pages[Event]:
        """Iterate over the events after the named one, oldest first."""
        query = {"after": after, "types": types, "queues": queues, "job_types": job_types}
        return Pages(url("events"), query, ("events",), Event, mark="after", next_mark="cursor")


class Webhooks(Group[M]):
    """Subscriptions to events, and their deliveries."""

    @listing
    @staticmethod
    def list() -> Pages[Json]:
        """Iterate over the subscriptions."""
        return Pages(url("webhooks", "subscriptions"), {}, ("subscriptions", "items"), dict)

    @method
    @staticmethod
    def subscribe(target: str, events: Sequence[str], **members: Any) -> Call[Json]:
        """Subscribe a URL to events."""
        body = {"url": target, "events": [*events], **members}
        return send_json("POST", url("webhooks", "subscriptions"), body, repeatable=False)

    @method
    @staticmethod
    def get(subscription_id: str) -> Call[Json]:
        """Read a subscription."""
        return get_json(url("webhooks", "subscriptions", subscription_id))

    @method
    @staticmethod
    def change(subscription_id: str, **members: Any) -> Call[Json]:
        """Change members of a subscription."""
        return send_json("PATCH", url("webhooks", "subscriptions", subscription_id), members)

    @method
    @staticmethod
    def delete(subscription_id: str) -> Call[Json]:
        """Delete a subscription."""
        path = url("webhooks", "subscriptions", subscription_id)
        return send_json("DELETE", path, repeatable=False)

    @method
    @staticmethod
    def rotate_secret(subscription_id: str, secret: str | None = None) -> Call[Json]:
        """Give a subscription a new secret."""
        path = url("webhooks", "subscriptions", subscription_id, "rotate-secret")
        return send_json("POST", path, {"secret": secret}, repeatable=False)

    @method
    @staticmethod
    def test(subscription_id: str) -> Call[Json]:
        """Post a test event."""
        path = url("webhooks", "subscriptions", subscription_id, "test")
        return send_json("POST", path, {}, repeatable=False)

    @listing
    @staticmethod
    def deliveries(*, subscription_id: str | None = None, status: str | None = None) -> Pages[Json]:
        """Iterate over deliveries, newest first."""
        query = {"subscription_id": subscription_id, "status": status}
        return Pages(url("webhooks", "deliveries"), query, ("deliveries", "items"), dict)

    @method
    @staticmethod
    def delivery(delivery_id: str) -> Call[Json]:
        """Read a delivery."""
        return get_json(url("webhooks", "deliveries", delivery_id))

    @method
    @staticmethod
    def retry(delivery_id: str) -> Call[Json]:
        """Retry a delivery."""
        path = url("webhooks", "deliveries", delivery_id, "retry")
        return send_json("POST", path, {}, repeatable=False)


class Schemas(Group[M]):
    """Schemas of arguments, by job type and version."""

    @listing
    @staticmethod
    def list() -> Pages[Json]:
        """Iterate over the schemas."""
        return Pages(url("schemas"), {}, ("schemas", "items"), dict)

    @method
    @staticmethod
    def register(uri: str, schema: Mapping[str, Any], **members: Any) -> Call[Json]:
        """Store a schema under its URI, such as `urn:ojs:schema:email.send:v1.0.0`."""
        body = {"uri": uri, "schema": schema, **members}
        return send_json("POST", url("schemas"), body, repeatable=False)

    @method
    @staticmethod
    def get(uri: str) -> Call[Json]:
        """Read a schema by its URI, or the newest of a job type."""
        return get_json(url("schemas", uri))

    @method
    @staticmethod
    def remove(uri: str) -> Call[Json]:
        """Remove a schema by its URI."""
        return send_json("DELETE", url("schemas", uri), repeatable=False)

    @method
    @staticmethod
    def versions(job_type: str) -> Call[Json]:
        """Read the versions of a job type's schema."""
        return get_json(url("schemas", job_type, "versions"))

    @method
    @staticmethod
    def validate(job_type: str, args: Sequence[Any], **members: Any) -> Call[Json]:
        """Check arguments by the schema of their type."""
        return send_json("POST", url("schemas", job_type, "validate"), {"args": [*args], **members})

    @method
    @staticmethod
    def compare(job_type: str, schema: Mapping[str, Any], **members: Any) -> Call[Json]:
        """Compare a schema with the newest one of a type."""
        body = {"schema": schema, **members}
        return send_json("POST", url("schemas", job_type, "compatibility"), body)

    @method
    @staticmethod
    def put_version(
        job_type: str, version: str, schema: Mapping[str, Any], **members: Any
    ) -> Call[Json]:
        """Store a version of a schema."""
        body = {"schema": schema, **members}
        return send_json("PUT", url("schemas", job_type, version), body, repeatable=False)

    @method
    @staticmethod
    def get_version(job_type: str, version: str) -> Call[Json]:
        """Read a version of a schema."""
        return get_json(url("schemas", job_type, version))

    @method
    @staticmethod
    def remove_version(job_type: str, version: str) -> Call[Json]:
        """Remove a version of a schema."""
        return send_json("DELETE", url("schemas", job_type, version), repeatable=False)


class Tenants(Group[M]):
    """Tenants and their limits."""

    @listing
    @staticmethod
    def list() -> Pages[Json]:
        """Iterate over the tenants."""
        return Pages(url("admin", "tenants"), {}, ("items",), dict)

    @method
    @staticmethod
    def get(tenant: str) -> Call[Json]:
        """Read a tenant."""
        return get_json(url("admin", "tenants", tenant))

    @method
    @staticmethod
    def put(tenant: str, **limits: Any) -> Call[Json]:
        """Create a tenant, or replace it."""
        return send_json("PUT", url("admin", "tenants", tenant), {"limits": limits or None})

    @method
    @staticmethod
    def limit(tenant: str, **limits: Any) -> Call[Json]:
        """Set the limits of a tenant."""
        return send_json("PUT", url("admin", "tenants", tenant, "limits"), limits)

    @method
    @staticmethod
    def delete(tenant: str) -> Call[Json]:
        """Delete the settings of a tenant."""
        return send_json("DELETE", url("admin", "tenants", tenant), repeatable=False)

    @method
    @staticmethod
    def stats(tenant: str) -> Call[Json]:
        """Count the jobs of a tenant, and its share."""
        return get_json(url("admin", "tenants", tenant, "stats"))

    @listing
    @staticmethod
    def jobs(tenant: str, **filter: Unpack[JobFilter]) -> Pages[Job]:
        """Iterate over the jobs of a tenant."""
        return Pages(url("admin", "tenants", tenant, "jobs"), filter, ("items",), Job)


class Pools(Group[M]):
    """Pools of workers, and the order of their queues."""

    @listing
    @staticmethod
    def list() -> Pages[Json]:
        """Iterate over the pools."""
        return Pages(url("admin", "pools"), {}, ("items", "pools"), dict)

    @method
    @staticmethod
    def get(name: str) -> Call[Json]:
        """Read a pool."""
        return get_json(url("admin", "pools", name))

    @method
    @staticmethod
    def put(name: str, queues: Sequence[str], **members: Any) -> Call[Json]:
        """Create a pool, or replace it."""
        return send_json("PUT", url("admin", "pools", name), {"queues": [*queues], **members})

    @method
    @staticmethod
    def delete(name: str) -> Call[Json]:
        """Delete a pool."""
        return send_json("DELETE", url("admin", "pools", name), repeatable=False)

    @method
    @staticmethod
    def stats() -> Call[Json]:
        """Read how the queues were served."""
        return get_json(url("admin", "scheduling", "stats"))


class Routing(Group[M]):
    """Routing of job types: the share of jobs for each version."""

    @method
    @staticmethod
    def get(job_type: str) -> Call[Json]:
        """Read the versions and weights of a type."""
        return get_json(url("admin", "routing", job_type))

    @method
    @staticmethod
    def put(job_type: str, rules: Sequence[Mapping[str, Any]], **members: Any) -> Call[Json]:
        """Set the versions and weights of a type."""
        return send_json("PUT", url("admin", "routing", job_type), {"rules": [*rules], **members})

    @method
    @staticmethod
    def delete(job_type: str) -> Call[Json]:
        """Delete the routing of a type."""
        return send_json("DELETE", url("admin", "routing", job_type), repeatable=False)


class Admin(Group[M]):
    """Calls of the admin API."""

    @listing
    @staticmethod
    def queues() -> Pages[Json]:
        """Iterate over the queues with their counts."""
        return Pages(url("admin", "queues"), {}, ("items",), dict)

    @method
    @staticmethod
    def queue(queue: str) -> Call[Json]:
        """Read a queue with its counts, throughput and settings."""
        return get_json(url("admin", "queues", queue))

    @method
    @staticmethod
    def pause_queue(queue: str) -> Call[Json]:
        """Pause a queue."""
        return send_json("POST", url("admin", "queues", queue, "pause"), {})

    @method
    @staticmethod
    def resume_queue(queue: str) -> Call[Json]:
        """Resume a queue."""
        return send_json("POST", url("admin", "queues", queue, "resume"), {})

    @listing
    @staticmethod
    def workers(
        *, state: str | None = None, presence: str | None = None, queue: str | None = None
    ) -> Pages[Json]:
        """Iterate over the workers."""
        query = {"state": state, "presence": presence, "queue": queue}
        return Pages(url("admin", "workers"), query, ("items",), dict)

    @method
    @staticmethod
    def worker(worker_id: str) -> Call[Json]:
        """Read a worker."""
        return get_json(url("admin", "workers", worker_id))

    @listing
    @staticmethod
    def dead_letters(**filter: Unpack[JobFilter]) -> Pages[Json]:
        """Iterate over the dead letters."""
        return Pages(url("admin", "dead-letter"), filter, ("items",), dict)

    @method
    @staticmethod
    def delete_dead_letter(job_id: str) -> Call[None]:
        """Delete a dead letter."""
        request = Request("DELETE", url("admin", "dead-letter", job_id))
        return Call(request, no_answer, repeatable=False)

    @method
    @staticmethod
    def stats(*, queue: str | None = None) -> Call[Json]:
        """Count jobs, queues and workers."""
        return get_json(url("admin", "stats", queue=queue))

    @method
    @staticmethod
    def stats_history(
        *,
        period: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        queue: str | None = None,
    ) -> Call[Json]:
        """Read the numbers of jobs that came, were processed and failed, by period."""
        query = {"period": period, "since": since, "until": until, "queue": queue}
        return get_json(url("admin", "stats", "history", **query))

    @listing
    @staticmethod
    def unique_keys(*, queue: str | None = None, type: str | None = None) -> Pages[Json]:
        """Iterate over the keys that unique jobs hold."""
        return Pages(url("unique-jobs"), {"queue": queue, "type": type}, ("items",), dict)

    @listing
    @staticmethod
    def middleware() -> Pages[Json]:
        """Iterate over the server's middleware."""
        return Pages(url("middleware"), {}, ("items", "execution"), dict)

    @listing
    @staticmethod
    def actions(
        *, name: str | None = None, call: str | None = None, target: str | None = None
    ) -> Pages[Json]:
        """Iterate over the actions of operators, newest first."""
        query = {"name": name, "call": call, "target": target}
        return Pages(url("admin", "actions"), query, ("actions",), dict)

    @listing
    @staticmethod
    def nodes() -> Pages[Json]:
        """Iterate over the servers of the database, newest first."""
        return Pages(url("admin", "nodes"), {}, ("items",), dict)

    @method
    @staticmethod
    def maintenance() -> Call[Json]:
        """Read whether maintenance mode is on."""
        return get_json(url("admin", "system", "maintenance"))

    @method
    @staticmethod
    def set_maintenance(
        enabled: bool, *, reason: str | None = None, duration: str | None = None
    ) -> Call[Json]:
        """Turn maintenance mode on or off."""
        body = {"enabled": enabled, "reason": reason, "duration": duration}
        return send_json("POST", url("admin", "system", "maintenance"), body)

    @method
    @staticmethod
    def settings() -> Call[Json]:
        """Read the settings of the server."""
        return get_json(url("admin", "system", "config"))

    @method
    @staticmethod
    def reset() -> Call[Json]:
        """Delete everything; only on servers that were started for tests."""
        return send_json("POST", url("admin", "reset"), {}, repeatable=False)


class ServerCalls(Group[M]):
    """Health and state of the server; the manifest is read by `manifest` of the client."""

    @method
    @staticmethod
    def health() -> Call[Json]:
        """Read the health of the server."""
        return get_json(url("health"))

    @method
    @staticmethod
    def health_detail() -> Call[Json]:
        """Read the health of the parts of the server."""
        return get_json(url("health", "detail"))

    @method
    @staticmethod
    def me() -> Call[Json]:
        """Read the name and permissions of this client."""
        return get_json(url("me"))

    @method
    @staticmethod
    def ready() -> Call[Json]:
        """Read whether the server is ready for work."""
        return get_json("/ready")

    @method
    @staticmethod
    def metrics() -> Call[Json]:
        """Read the server's main counters."""
        return get_json(path_of("", {"format": "json"}, "metrics"))
