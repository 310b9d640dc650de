"""Cases of the HTTP binding: paths, bodies, headers, media types and lists."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import Reply

OPENJOBSPEC = "application/openjobspec+json"
MADE_ID = re.compile(r"req_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
CURSOR = "pagination.next_cursor"
_FULL = 20  # entries on each page of a list that ends with a full one
MOST_PAGES = 500  # entries that are read of a list, which may be one of all queues


@case("OJS-HTP-001")
async def places(stage: Stage) -> None:
    """Calls lie below /ojs/v1; the manifest has its own place."""
    (await stage.get("/ojs/manifest")).expect(200)
    (await stage.get("/ojs/v1/health")).expect(200)
    queue = stage.name()
    await stage.enqueue(queue)
    await stage.take(queue)


@case("OJS-HTP-037", "OJS-MAN-023", "OJS-MAN-024")
async def paths_at_the_root(stage: Stage) -> None:
    """Health, readiness and metrics have paths at the root, and other calls have none there."""
    for path in ("/health", "/healthz", "/ready", "/readyz", "/metrics"):
        (await stage.get(path)).expect(200)
    for path in ("/jobs", "/ojs/v2/jobs", "/v1/jobs"):
        (await stage.post(path, {"type": "test.case", "args": []})).expect((404, 405))


@case("OJS-HTP-002", level=1)
async def worker_calls(stage: Stage) -> None:
    """FETCH, BEAT, ACK and FAIL are at their paths."""
    queue, worker = stage.name(), stage.name("w")
    for _ in range(2):
        await stage.enqueue(queue)
    first, second = await stage.take(queue, worker), await stage.take(queue, worker)
    beat = {"worker_id": worker, "active_jobs": [first["id"], second["id"]]}
    (await stage.post("workers/heartbeat", beat)).expect(200)
    (await stage.ack(first, worker)).expect(200)
    (await stage.fail(second, worker)).expect(200)


@case("OJS-HTP-038", level=1, capability="worker_registration")
async def workers_come_and_go(stage: Stage) -> None:
    """Workers register and deregister at two paths of their own."""
    queue, worker = stage.name(), stage.name("w")
    (await stage.post("workers/register", {"worker_id": worker, "queues": [queue]})).expect(200)
    await stage.enqueue(queue)
    (await stage.ack(await stage.take(queue, worker), worker)).expect(200)
    (await stage.post("workers/deregister", {"worker_id": worker})).expect(200)


@case("OJS-HTP-003", "OJS-HTP-004", "OJS-HTP-010", level=1)
async def other_spellings_of_jobs(stage: Stage) -> None:
    """Enqueue, fetch, ack, nack, fail and cancel work at their other paths, with and without a
    body."""
    queue = stage.name()
    sent = {"type": "test.case", "args": [], "options": {"queue": queue}}
    made = await stage.post("/api/v1/jobs", sent)
    job = made.expect(201, {"job.queue": {"$eq": queue}})["job.id"]
    (await stage.delete(f"jobs/{job}")).expect(200)

    async def held() -> str:
        await stage.enqueue(queue)
        reply = await stage.post("jobs/fetch", {"queues": [queue]})
        return str(reply.expect(200, {"jobs": {"$size": 1}})["jobs[0].id"])

    (await stage.post(f"jobs/{await held()}/ack", {"result": 1})).expect(
        200, {"state": "completed"}
    )
    (await stage.post(f"jobs/{await held()}/ack")).expect(200, {"state": "completed"})
    error = {"error": {"message": "x", "retryable": False}}
    for name in ("nack", "fail"):
        (await stage.post(f"jobs/{await held()}/{name}", error)).expect(200, {"state": "discarded"})
    job = await held()
    (await stage.post("workers/fail", {"job_id": job, **error})).expect(200, {"state": "discarded"})
    job = await held()
    (await stage.post(f"jobs/{job}/cancel")).expect(200, {"job.state": "cancelled"})
    wrong = await stage.post(f"jobs/{await held()}/ack", {"job_id": stage.new_id()})
    wrong.error(400, "invalid_request")


@case("OJS-HTP-003", level=1, capability="worker_registration")
async def other_spellings_of_workers(stage: Stage) -> None:
    """BEAT, ping and deregister work at their other paths."""
    worker, other = stage.name("w"), stage.name("w")
    (await stage.post("workers/beat", {"worker_id": worker})).expect(
        200, {"acknowledged": True, "worker_id": {"$eq": worker}}
    )
    (await stage.call("PATCH", f"workers/{worker}", {})).expect(200, {"acknowledged": True})
    (await stage.delete(f"workers/{worker}")).expect((200, 204))
    (await stage.get(f"workers/{worker}")).expect(200, {"worker.state": "terminated"})
    await stage.beat(other)
    (await stage.post(f"workers/{other}/unregister")).expect(200)
    (await stage.get(f"workers/{other}")).expect(200, {"worker.state": "terminated"})


@case("OJS-HTP-003", level=2, capability="cron_jobs")
async def other_spellings_of_cron(stage: Stage) -> None:
    """Cron entries can be reached at /crons as well."""
    name = stage.name("cron")
    entry = {
        "name": name,
        "expression": "0 0 1 1 *",
        "job_template": {"type": "test.case", "args": []},
    }
    (await stage.post("crons", entry)).expect(201, {"cron.name": {"$eq": name}})
    (await stage.get("crons")).expect(200, {"crons": {"$type": "array"}})
    (await stage.get(f"crons/{name}")).expect(200, {"cron.name": {"$eq": name}})
    (await stage.call("PATCH", f"crons/{name}", {"enabled": False})).expect(
        200, {"cron.enabled": False}
    )
    (await stage.delete(f"crons/{name}")).expect(200, {"deleted": True})
    (await stage.get(f"cron/{name}")).error(404, "not_found")


@case("OJS-HTP-005")
async def unknown_paths_and_methods(stage: Stage) -> None:
    """A path that is not there is 404."""
    await stage.enqueue(stage.name())
    (await stage.get("nothing/here")).expect(404)
    (await stage.post("nothing/here", {})).expect(404)


@case("OJS-HTP-039", "OJS-ERR-005")
async def unknown_methods(stage: Stage) -> None:
    """An unknown path is not_found; a method that a path does not have is 405 with Allow."""
    (await stage.get("nothing/here")).error(404, "not_found")
    (await stage.get("/nothing")).error(404, "not_found")
    for method, path in (("PUT", "jobs"), ("PATCH", "workers/fetch")):
        reply = (await stage.call(method, path, {})).error(405, "method_not_allowed")
        stage.check("POST" in reply.headers.get("allow", ""), "Allow: POST", reply.headers)


@case("OJS-HTP-006")
async def head_is_get_without_body(stage: Stage) -> None:
    """HEAD has the status and the headers of GET and no body."""
    job = await stage.enqueue(stage.name())
    there = (f"jobs/{job['id']}", "/ojs/manifest", "queues")
    for path, status in (*((path, 200) for path in there), (f"jobs/{stage.new_id()}", 404)):
        got, head = await stage.get(path), await stage.call("HEAD", path)
        stage.equal([got.status, head.status], [status, status], f"status of GET and HEAD {path}")
        stage.equal(len(head.content), 0, "bytes of the body")
        for name in ("content-type", "ojs-version"):
            stage.equal(head.headers.get(name), got.headers.get(name), name)


def _enqueue(queue: str) -> bytes:
    """The body of an enqueue, as bytes."""
    return b'{"type":"test.case","args":[],"options":{"queue":"%s"}}' % queue.encode()


@case("OJS-HTP-007", "OJS-HTP-008")
async def media_types_of_requests(stage: Stage) -> None:
    """JSON is read under its two names, and no other type is."""
    body = _enqueue(stage.name())
    for name in (OPENJOBSPEC, "application/json"):
        (await stage.call("POST", "jobs", raw=body, headers={"Content-Type": name})).expect(201)
    for name in ("text/plain", "application/xml", "application/x-www-form-urlencoded"):
        (await stage.call("POST", "jobs", raw=body, headers={"Content-Type": name})).expect(400)


@case("OJS-HTP-040")
async def media_types_with_parameters(stage: Stage) -> None:
    """JSON is read with parameters of its media type, and without a `Content-Type`."""
    body = _enqueue(stage.name())
    for name in ("application/json; charset=utf-8", f"{OPENJOBSPEC}; charset=utf-8", ""):
        (await stage.call("POST", "jobs", raw=body, headers={"Content-Type": name})).expect(201)
    for name in ("text/plain", "application/xml"):
        headers = {"Content-Type": name}
        (await stage.call("POST", "jobs", raw=body, headers=headers)).error(400, "exists")
        job = await stage.enqueue(stage.name(), pending=True)
        (await stage.call("POST", f"jobs/{job['id']}/activate", headers=headers)).expect(200)


UNREADABLE = (b"", b"{", b"nope", b"[]", b'"text"', b"1", b"null", b'{"a":1} x', b"\xff")


async def _cannot_be_read(stage: Stage, *paths: str) -> None:
    for path in paths:
        for raw in UNREADABLE:
            (await stage.call("POST", path, raw=raw)).expect(400)


@case("OJS-HTP-009")
async def bodies_that_cannot_be_read(stage: Stage) -> None:
    """No body, no JSON, and no object are 400, on calls that need one."""
    await _cannot_be_read(stage, "jobs", "workers/fetch", "workers/ack")


@case("OJS-HTP-009", level=1)
async def beats_that_cannot_be_read(stage: Stage) -> None:
    """A BEAT needs an object as its body."""
    await _cannot_be_read(stage, "workers/heartbeat")


@case("OJS-HTP-009", level=4, capability="batch_enqueue")
async def batches_that_cannot_be_read(stage: Stage) -> None:
    """A batch needs an object as its body."""
    await _cannot_be_read(stage, "jobs/batch")


@case("OJS-HTP-035")
async def code_of_unreadable_bodies(stage: Stage) -> None:
    """The refusal of a body that cannot be read is invalid_payload."""
    for path in ("jobs", "workers/fetch", "workers/ack"):
        for raw in UNREADABLE:
            (await stage.call("POST", path, raw=raw)).error(400, "invalid_payload")


async def _without_a_body(stage: Stage, path: str) -> None:
    reply = await stage.call("POST", path, headers={"Content-Type": OPENJOBSPEC})
    reply.expect(200)


@case("OJS-HTP-010", level=1)
async def calls_without_a_body(stage: Stage) -> None:
    """A dead-letter retry needs no body."""
    dead = await stage.discarded(stage.name(), retry={"on_exhaustion": "dead_letter"})
    await _without_a_body(stage, f"dead-letter/{dead['id']}/retry")


@case("OJS-HTP-010", level=1)
async def activations_without_a_body(stage: Stage) -> None:
    """ACTIVATE needs no body."""
    queue = stage.name()
    job = await stage.enqueue(queue, pending=True)
    await _without_a_body(stage, f"jobs/{job['id']}/activate")
    stage.equal((await stage.take(queue))["id"], job["id"], "the activated job")


@case("OJS-HTP-010", level=4, capability="pause_resume")
async def pauses_without_a_body(stage: Stage) -> None:
    """A pause and a resume of a queue need no body."""
    queue = stage.name()
    await stage.enqueue(queue)
    for verb in ("pause", "resume"):
        await _without_a_body(stage, f"queues/{queue}/{verb}")
    await stage.take(queue)


@case("OJS-HTP-041")
async def calls_with_an_empty_object(stage: Stage) -> None:
    """Calls that need nothing take no body, or an object."""
    queue = stage.name()
    bodies: tuple[Any, ...] = (None, {})
    for body in bodies:
        send: Callable[[str], Awaitable[Reply]] = (
            stage.post if body is None else lambda path: stage.post(path, {})
        )
        job = await stage.enqueue(queue, pending=True)
        (await send(f"jobs/{job['id']}/activate")).expect(200)
        (await send(f"jobs/{job['id']}/cancel")).expect(200)
        (await send(f"queues/{queue}/pause")).expect(200)
        (await send(f"queues/{queue}/resume")).expect(200)
        dead = await stage.discarded(queue)
        (await send(f"dead-letter/{dead['id']}/retry")).expect(200)
        await stage.take(queue)
        (await send(f"jobs/{dead['id']}/ack")).expect(200)


@case("OJS-HTP-011")
async def members_named_twice(stage: Stage) -> None:
    """The last one counts of members that an object names twice."""
    queue = stage.name()
    options = b'"options":{"queue":"%s"}' % queue.encode()
    raw = b'{"type":"test.first","args":[1],%s,"type":"test.second","args":[2]}' % options
    (await stage.call("POST", "jobs", raw=raw)).expect(201)
    taken = await stage.take(queue)
    stage.equal([taken["type"], taken["args"]], ["test.second", [2]], "type and arguments")


@case("OJS-HTP-012")
async def unknown_members_are_ignored(stage: Stage) -> None:
    """Unknown members of options, policies and calls are ignored."""
    queue, worker = stage.name(), stage.name("w")
    odd = {"x_odd": 1}
    options = {"queue": queue, "retry": {"max_attempts": 2, **odd}, **odd}
    (await stage.post("jobs", {"type": "test.case", "args": [], "options": options})).expect(
        201, {"job.max_attempts": 2}
    )
    job = await stage.take(queue, worker, **odd)
    await stage.beat(worker, [job], **odd)
    (await stage.ack(job, worker, **odd)).expect(200)


@case("OJS-HTP-012", own_server="strict")
async def strict_servers_refuse_unknown_members(stage: Stage) -> None:
    """A strict server refuses them, and names the member and the nearest known one."""
    queue = stage.name()
    for members, wrong, near in (
        ({"options": {"queue": queue, "piority": 1}}, "piority", "priority"),
        ({"queue": queue, "retry": {"max_atempts": 1}}, "max_atempts", "max_attempts"),
        ({"queue": queue, "unique": {"perod": "PT1S"}}, "perod", "period"),
    ):
        reply = (await stage.push(**members)).error(422, "validation_error")
        message = reply["error.message"]
        stage.check(
            wrong in message and near in message, f"{wrong} and {near} in the message", message
        )
    reply = await stage.post("workers/fetch", {"queues": [queue], "cont": 1})
    reply.error(422, "validation_error")
    (await stage.push(queue=queue, x_of_mine=1)).expect(201, {"job.x_of_mine": 1})


def _media_type(reply: Reply) -> str:
    """The media type of an answer, without parameters."""
    return reply.headers.get("content-type", "").partition(";")[0].strip().lower()


@case("OJS-HTP-013", "OJS-HTP-014")
async def media_types_of_answers(stage: Stage) -> None:
    """Answers are JSON objects of the protocol's media type, unless another one is asked for."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    for headers in ({}, {"Accept": "*/*"}, {"Accept": OPENJOBSPEC}):
        for reply in (
            await stage.call("GET", f"jobs/{job['id']}", headers=headers),
            await stage.call("GET", "queues", headers=headers),
            await stage.call("POST", "workers/fetch", {"queues": [stage.name()]}, headers=headers),
        ):
            stage.equal(_media_type(reply.expect(200)), OPENJOBSPEC, f"Content-Type for {headers}")
            stage.check(isinstance(reply.json, dict), "an object", reply.text)
    missing = (await stage.get(f"jobs/{stage.new_id()}")).expect(404)
    stage.check(isinstance(missing.json, dict), "an object", missing.text)


@case("OJS-HTP-036")
async def media_types_that_are_asked_for(stage: Stage) -> None:
    """An answer is application/json where that is the only type asked for."""
    job = await stage.enqueue(stage.name())
    reply = await stage.call("GET", f"jobs/{job['id']}", headers={"Accept": "application/json"})
    stage.equal(_media_type(reply.expect(200)), "application/json", "Content-Type")


@case("OJS-HTP-042", "OJS-HTP-014")
async def media_types_exactly(stage: Stage) -> None:
    """The media type of an answer follows Accept and OJS-Version; every body is an object."""
    job = await stage.enqueue(stage.name())
    for path, status in ((f"jobs/{job['id']}", 200), ("nothing", 404), ("/ojs/manifest", 200)):
        for headers, expected in (
            ({}, OPENJOBSPEC),
            ({"Accept": "*/*"}, OPENJOBSPEC),
            ({"Accept": OPENJOBSPEC}, OPENJOBSPEC),
            ({"Accept": f"application/json, {OPENJOBSPEC}"}, OPENJOBSPEC),
            ({"Accept": "application/json"}, "application/json"),
            ({"Accept": "application/json", "OJS-Version": "1.0"}, "application/json"),
            ({"OJS-Version": "1.0"}, f'{OPENJOBSPEC}; alt="application/json"'),
        ):
            reply = await stage.call("GET", path, headers=headers)
            reply.expect(status)
            stage.equal(reply.headers.get("content-type"), expected, f"Content-Type for {headers}")
            stage.check(isinstance(reply.json, dict), "an object", reply.text)


@case("OJS-HTP-015")
async def headers_of_every_answer(stage: Stage) -> None:
    """Every answer says its version."""
    for path in ("queues", "health", "/ojs/manifest", f"jobs/{stage.new_id()}"):
        reply = await stage.get(path)
        stage.equal(reply.headers.get("ojs-version"), "1.0", "OJS-Version")


@case("OJS-HTP-017")
async def request_ids_of_every_answer(stage: Stage) -> None:
    """Every answer has an id of its request that no other one has."""
    ids = list[str]()
    for path in ("queues", "health", "/ojs/manifest", f"jobs/{stage.new_id()}"):
        for _ in range(2):
            reply = await stage.get(path)
            ids.append(reply.headers.get("x-request-id", ""))
            stage.check(bool(ids[-1]), "X-Request-Id", reply.headers)
    stage.equal(len(set(ids)), len(ids), "different ids of requests")


@case("OJS-HTP-032")
async def request_ids_are_kept(stage: Stage) -> None:
    """The request id of an answer is the request's own."""
    given = f"req_client-{stage.new_id()}"
    for path in ("queues", f"jobs/{stage.new_id()}"):
        reply = await stage.call("GET", path, headers={"X-Request-Id": given})
        stage.equal(reply.headers.get("x-request-id"), given, "X-Request-Id")


@case("OJS-HTP-033")
async def request_ids_of_the_server(stage: Stage) -> None:
    """A request id that the server makes is `req_` and a UUIDv7."""
    made = (await stage.get("queues")).headers.get("x-request-id", "")
    stage.check(bool(MADE_ID.fullmatch(made)), "req_ and a UUIDv7", made)


@case("OJS-HTP-044", "OJS-HTP-015", "OJS-ERR-004")
async def request_ids_have_a_length(stage: Stage) -> None:
    """A request's own id has up to 128 characters; the other answers have one, too."""
    queue = stage.name()
    await stage.enqueue(queue)
    for path in (f"queues/{queue}", "/ojs/manifest", "nothing", "/metrics", "jobs/x"):
        reply = await stage.get(path)
        stage.equal(reply.headers.get("ojs-version"), "1.0", "OJS-Version")
        made = reply.headers.get("x-request-id", "")
        stage.check(bool(MADE_ID.fullmatch(made)), "req_ and a UUIDv7", made)
        stage.check((await stage.get(path)).headers["x-request-id"] != made, "a new id", made)
    for given, kept in (("my request/1", True), ("x" * 128, True), ("x" * 129, False)):
        reply = await stage.call("GET", "jobs/x", headers={"X-Request-Id": given})
        stage.check((reply.headers["x-request-id"] == given) is kept, f"kept: {kept}", given)
        stage.equal(reply["error.request_id"], reply.headers["x-request-id"], "request_id")


@case("OJS-HTP-016")
async def versions_of_requests(stage: Stage) -> None:
    """The version of the protocol is accepted; one that nobody knows is 422."""
    (await stage.call("GET", "queues", headers={"OJS-Version": "1.0"})).expect(200)
    reply = await stage.call("GET", "queues", headers={"OJS-Version": "99.0"})
    reply.expect(422, {"error.code": "unsupported"})


@case("OJS-HTP-043")
async def other_versions_of_requests(stage: Stage) -> None:
    """Other spellings of the version are accepted; any other version is unsupported."""
    for version in ("1.0", "1", "1.0.0", "1.0.0-rc.1"):
        (await stage.call("GET", "queues", headers={"OJS-Version": version})).expect(200)
    for version in ("2.0", "1.1", "0.9", "latest"):
        reply = await stage.call("GET", "queues", headers={"OJS-Version": version})
        reply.error(422, "unsupported")


@case("OJS-HTP-018")
async def enqueue_says_where(stage: Stage) -> None:
    """The answer to an enqueue has the path of the job as Location, which can be read."""
    reply = (await stage.push(queue=stage.name())).expect(201)
    place = urlsplit(reply.headers.get("location", "")).path
    stage.check(place.endswith(f"/jobs/{reply['job.id']}"), "the path of the job", place)
    (await stage.get(place)).expect(200, {"job.id": {"$eq": reply["job.id"]}})


async def _dead(stage: Stage, queue: str, count: int) -> list[str]:
    """The ids of so many new dead letters of a queue."""
    retry = {"on_exhaustion": "dead_letter"}
    return [(await stage.discarded(queue, retry=retry))["id"] for _ in range(count)]


async def _ids(stage: Stage, path: str, **query: Any) -> tuple[list[str], Reply]:
    reply = (await stage.get(path, **query)).expect(200)
    return [job["id"] for job in reply["jobs"]], reply


@case("OJS-HTP-021", "OJS-HTP-023", level=1)
async def pages_of_lists(stage: Stage) -> None:
    """A page has at most `limit` entries, and says how many there are and whether more follow."""
    queue, limit = stage.name(), 2
    made = await _dead(stage, queue, 4)
    found, reply = await _ids(stage, "dead-letter", queue=queue, limit=limit)
    stage.check(0 < len(found) <= limit, f"one to {limit} jobs", found)
    reply.expect(200, {"pagination.total": {"$gte": len(made)}, "pagination.has_more": True})
    found, reply = await _ids(stage, "dead-letter", queue=queue, limit=len(made))
    if reply.expect(200, {"pagination.total": {"$gte": len(made)}})["pagination.total"] == 4:
        stage.equal(sorted(found), sorted(made), "jobs on a page that has room for all")
        reply.expect(200, {"pagination.has_more": False})


@case("OJS-HTP-022", "OJS-HTP-023", level=1)
async def cursors_of_lists(stage: Stage) -> None:
    """While a list has more, a page has the cursor of the next one; all together have all."""
    queue, limit = stage.name(), 2
    made = await _dead(stage, queue, 4)
    seen = list[str]()
    query: dict[str, Any] = {}
    for _ in range(MOST_PAGES):
        found, reply = await _ids(stage, "dead-letter", queue=queue, limit=limit, **query)
        stage.check(bool(found), "jobs on a page after has_more", found)
        seen += found
        if reply["pagination.has_more"] is not True:
            reply.expect(200, {"pagination.has_more": False})
            break
        query = {"cursor": reply.expect(200, {"pagination.next_cursor": "string:nonempty"})[CURSOR]}
    missing = [each for each in made if each not in seen]
    stage.equal(missing, [], "jobs that are on no page")
    stage.equal(len(set(seen)), len(seen), "different jobs on all pages")


@case("OJS-HTP-022", "OJS-HTP-023", alone=True, seconds=120)
async def full_last_pages(stage: Stage) -> None:
    """A list of queues whose last page is full ends with it: no page says that more follow."""

    async def add() -> str:
        queue = stage.name()
        await stage.enqueue(queue)
        return queue

    await ends_with_a_full_page(stage, "queues", ("queues",), add)


async def ends_with_a_full_page(
    stage: Stage, path: str, members: Sequence[str], add: Callable[[], Awaitable[str]]
) -> list[str]:
    """Require that a list ends with its last page where that is full. `add` makes another entry;
    the names of those that were made are returned."""

    async def page(**cursor: str) -> Reply:
        return (await stage.get(path, limit=_FULL, **cursor)).expect(200)

    made = [await add()]
    while (await page())["pagination.total"] % _FULL and len(made) < _FULL:
        made.append(await add())
    reply, seen = await page(), set[str]()
    total = reply["pagination.total"]
    stage.equal(total % _FULL, 0, "entries on a last page that is not full")
    for number in range(1, total // _FULL + 1):
        entries = reply[next(filter(reply.has, members), members[0])]
        stage.equal(len(entries), _FULL, f"entries on page {number} of {total // _FULL}")
        seen |= {entry["name"] for entry in entries}
        more = number * _FULL < total
        reply.expect(200, {"pagination.has_more": more})
        if more:
            reply = await page(cursor=reply.expect(200, {CURSOR: "string:nonempty"})[CURSOR])
    stage.check(made[0] in seen, f"{made[0]} in the list", sorted(seen))
    return made


@case("OJS-HTP-034", level=1, alone=True)
async def offsets_of_lists(stage: Stage) -> None:
    """A list takes an offset."""
    queue = stage.name()
    await _dead(stage, queue, 2)
    first, _ = await _ids(stage, "dead-letter", queue=queue, limit=1)
    second, _ = await _ids(stage, "dead-letter", queue=queue, limit=1, offset=1)
    stage.equal([len(first), len(second)], [1, 1], "jobs on two pages")
    stage.check(first != second, "another job", second)


@case(
    *("OJS-HTP-020", "OJS-HTP-034", "OJS-HTP-045", "OJS-HTP-046", "OJS-HTP-047", "OJS-DLQ-004"),
    level=1,
)
async def pages_by_number(stage: Stage) -> None:
    """A list is newest first and comes in pages by offset, by page and by cursor alike."""
    queue = stage.name()
    made = [(await stage.discarded(queue))["id"] for _ in range(5)]
    newest = made[::-1]
    found, reply = await _ids(stage, "dead-letter", queue=queue)
    stage.equal(found, newest, "newest first")
    reply.expect(
        200,
        {
            "pagination.total": 5,
            "pagination.limit": 50,
            "pagination.offset": 0,
            "pagination.page": 1,
            "pagination.per_page": 50,
            "pagination.has_more": False,
            "pagination.next_cursor": "absent",
        },
    )
    found, reply = await _ids(stage, "dead-letter", queue=queue, limit=2, offset=1)
    stage.equal(found, newest[1:3], "limit 2, offset 1")
    reply.expect(200, {"pagination.has_more": True, "pagination.next_cursor": "string:nonempty"})
    found, _ = await _ids(stage, "dead-letter", queue=queue, per_page=2, page=3)
    stage.equal(found, newest[4:], "page 3")
    seen, more = list[str](), {"limit": 2}
    for _ in range(3):
        found, reply = await _ids(stage, "dead-letter", queue=queue, **more)
        seen += found
        more = {"limit": 2, "cursor": reply.json["pagination"].get("next_cursor", "")}
    stage.equal(seen, newest, "all pages by cursor")


@case("OJS-HTP-045", level=1)
async def limits_of_pages(stage: Stage) -> None:
    """A limit is a number from 1; more than a thousand counts as a thousand."""
    queue = stage.name()
    for limit in ("0", "-1", "x", "1.5", "1e3"):
        for path in ("dead-letter", "events", "workers"):
            (await stage.get(path, limit=limit)).error(400, "invalid_request")
    (await stage.get("dead-letter", queue=queue, limit=5000)).expect(
        200, {"pagination.limit": 1000}
    )


@case("OJS-HTP-025")
async def copies_at_the_top(stage: Stage) -> None:
    """One job and one cron entry are repeated at the top, with OJS-Version and without."""
    queue, name = stage.name(), stage.name("c")
    sent = {"type": "test.case", "args": [{"x": 1}], "options": {"queue": queue}}
    entry = {**sent, "name": name, "cron": "0 0 1 1 *"}
    for headers in ({}, {"OJS-Version": "1.0"}):
        enqueued = (await stage.call("POST", "jobs", sent, headers=headers)).expect(201)
        path = f"jobs/{enqueued['job.id']}"
        read = (await stage.call("GET", path, headers=headers)).expect(200)
        cancelled = (await stage.call("DELETE", path, headers=headers)).expect(200)
        for reply in (enqueued, read, cancelled):
            stage.equal(reply.json.get("args"), [{"x": 1}], "args at the top")
            for member, value in reply["job"].items():
                stage.equal(reply.json.get(member), value, member)
        try:
            made = (await stage.call("POST", "cron", entry, headers=headers)).expect(201)
            found = (await stage.call("GET", f"cron/{name}", headers=headers)).expect(200)
            for reply in (made, found):
                stage.equal(reply["cron_job"]["name"], name, "cron_job.name")
                cron = entry["cron"] if headers else reply["cron_job"]
                stage.equal(reply.json, reply.json | reply["cron_job"] | {"cron": cron}, "entry")
        finally:
            await stage.delete(f"cron/{name}")
    failed = await stage.discarded(queue)
    read = (await stage.get(f"jobs/{failed['id']}")).expect(200)
    stage.check("error" in read["job"], "the error in `job`", list(read["job"]))
    stage.check("error" not in read.json, "no error at the top", list(read.json))


@case("OJS-HTP-026")
async def one_host_and_one_key(stage: Stage) -> None:
    """A request without Host, or with two hosts, keys or origins, is 400."""
    host = f"Host: {stage.host}"
    two_keys = ("Authorization: Bearer one-of-two-keys", "Authorization: Bearer two-of-two-keys")
    two_pages = (f"Origin: http://{stage.host}", f"Origin: http://{stage.host}")
    for lines in ((), (host, host), (host, *two_keys), (host, *two_pages)):
        head = "\r\n".join(("GET /ojs/manifest HTTP/1.1", *lines, "", ""))
        answer = (await stage.send_raw(head.encode())).decode(errors="replace")
        stage.check(" 400 " in answer[:20], f"400 to the lines {list(lines)}", answer[:200])
    await stage.enqueue(stage.name())


@case("OJS-HTP-027", level=1)
async def paths_with_nul(stage: Stage) -> None:
    """A path that holds NUL is not found, although it is known without the NUL."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    for path in (f"jobs/{job['id']}", f"queues/{queue}/stats", f"workers/{stage.name('w')}"):
        for written in (f"{path}%00", path.replace("/", "/%00", 1)):
            (await stage.get(written)).error(404, "not_found")
    (await stage.delete(f"jobs/{job['id']}%00")).error(404, "not_found")
    stage.equal((await stage.look(job))["state"], "available", "state")


@case("OJS-HTP-028")
async def answers_are_not_kept(stage: Stage) -> None:
    """Answers forbid caching, and forbid browsers to guess another media type."""
    job = await stage.enqueue(stage.name())
    for path in (f"jobs/{job['id']}", "queues", "nothing/here", f"jobs/{stage.new_id()}"):
        headers = (await stage.get(path)).headers
        stage.equal(headers.get("x-content-type-options"), "nosniff", "X-Content-Type-Options")
        stage.equal(headers.get("cache-control"), "no-store", "Cache-Control")
    refused = await stage.post("jobs", {"type": 1})
    stage.equal(refused.headers.get("cache-control"), "no-store", "Cache-Control")


@case("OJS-HTP-029", "OJS-HTP-030", capability="long_poll")
async def preferences(stage: Stage) -> None:
    """A call waits as Prefer asks and confirms it; unknown preferences are ignored."""
    queue = stage.name()

    async def fetch(prefer: str, **members: object) -> Reply:
        body = {"queues": [queue], **members}
        reply = await stage.post("workers/fetch", body, Prefer=prefer)
        return reply.expect(200)

    def applied(reply: Reply) -> str | None:
        return reply.headers.get("preference-applied")

    async with stage.waiting(fetch("wait=20")) as (waiting,):
        await asyncio.sleep(0.5)
        stage.check(not waiting.done(), "a FETCH that waits", "it is answered")
        job = await stage.enqueue(queue)
        reply = await waiting
    stage.equal([handed["id"] for handed in reply["jobs"]], [job["id"]], "the job of the wait")
    stage.equal(applied(reply), "wait=20", "Preference-Applied")
    for prefer, expected in (
        ("wait=0", "wait=0"),
        ('foo="a, wait=9"; bar, wait="0"', "wait=0"),
        ("wait=0, wait=20", "wait=0"),
        ("wait=-1", None),
        ("wait=1.5", None),
        ("wait=soon, wait=0", None),
        ("handling=strict", None),
    ):
        reply = await fetch(prefer)
        stage.equal(
            (reply["jobs"], applied(reply)), ([], expected), f"an answer to Prefer: {prefer}"
        )
    started = time.monotonic()
    stage.equal(applied(await fetch("wait=20", wait_ms=0)), None, "a wait that the body outranks")
    stage.check(time.monotonic() - started < 10, "an answer at once", time.monotonic() - started)
    path = f"jobs/{job['id']}/result"
    for prefer, query, expected in (
        ("wait=0", "", "wait=0"),
        ("respond-async, wait=0", "", "respond-async, wait=0"),
        ("respond-async", "?wait=true&timeout=0.1", "respond-async"),
    ):
        reply = await stage.call("GET", path + query, headers={"Prefer": prefer})
        reply.expect(202, {"state": "active"})
        stage.equal(applied(reply), expected, f"an answer to Prefer: {prefer}")


@case("OJS-HTP-031", level=1)
async def second_names(stage: Stage) -> None:
    """Some members are also answered under the second names that clients know."""
    queue = stage.name()
    jobs = [{"type": "test.case", "args": [], "options": {"queue": queue}} for _ in range(2)]
    batch = await stage.post("jobs/batch", {"jobs": jobs})
    batch.expect(201, {"enqueued": {"$eq": 2}, "failed": {"$eq": 0}})
    for path in ("jobs", "dead-letter"):
        listed = (await stage.get(path, limit=1)).expect(200)
        stage.equal(listed["total"], listed["pagination.total"], f"the total of {path}")
    (await stage.get(f"queues/{queue}")).expect(200, {"depth": 2, "running": 0, "paused": False})
    (await stage.get(f"queues/{queue}/stats")).expect(200, {"stats.dead": {"$eq": 0}})
    job = batch["jobs"][0]["id"]
    (await stage.get(f"jobs/{job}/retries")).expect(200, {"policy.max_attempts": {"$exists": True}})
    for event in (await stage.get(f"jobs/{job}/history")).expect(200)["events"]:
        stage.equal(event["timestamp"], event["time"], "the time of an event")
