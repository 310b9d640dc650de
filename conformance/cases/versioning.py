"""Cases of versions and runtimes: which worker gets which job."""

from typing import Any

from conformance.case import case
from conformance.play.stage import Stage

VERSIONING = "job_versioning"
RUNTIME = "ojs.ext_runtime"


async def _is_kept(stage: Stage, expected: object, **members: Any) -> None:
    """Require that a job's version is shown by the enqueue, by FETCH and wherever it is read."""
    queue = stage.name()
    job = await stage.enqueue(queue, **{"type": "kind.a", **members})
    stage.equal(job["version"], expected, "version")
    (await stage.get(f"jobs/{job['id']}")).expect(200, {"job.version": {"$eq": expected}})
    stage.equal((await stage.take(queue))["version"], expected, "version in FETCH")


@case("OJS-VER-001", "OJS-VER-002", capability=VERSIONING)
async def versions_of_jobs(stage: Stage) -> None:
    """A version comes back as it was written, and one in the type is read; a job needs none."""
    await stage.enqueue(stage.name(), type="kind.a")
    await _is_kept(stage, "2.1", version="2.1")
    await _is_kept(stage, "3.0", type="kind.a@3.0")
    await _is_kept(stage, "4.0", type="kind.a@3.0", version="4.0")


@case("OJS-VER-014", capability=VERSIONING)
async def whole_versions(stage: Stage) -> None:
    """A version that is an integer comes back as one."""
    await _is_kept(stage, 2, version=2)


@case("OJS-VER-003", "OJS-VER-015", "OJS-VER-016", capability=VERSIONING)
async def versions_that_are_equal(stage: Stage) -> None:
    """Versions are compared by their numbers, an invalid one is refused, and types are short."""
    queue = stage.name()
    written: list[tuple[dict[str, Any], object]] = [
        ({"version": 2}, 2),
        ({"version": "2.1"}, "2.1"),
        ({"type": "kind.a@3.0"}, "3.0"),
        ({"type": "kind.a@3.0", "version": 4}, 4),
    ]
    for members, version in written:
        job = await stage.enqueue(queue, **{"type": "kind.a", **members})
        stage.equal((job["type"], job["version"]), ("kind.a", version), "type and version")
        (await stage.get(f"jobs/{job['id']}")).expect(200, {"job.version": {"$eq": version}})
        stage.equal((await stage.take(queue))["version"], version, "version in FETCH")
    for wrong in ("new", "", 1.5, -1, True, "1.2.3.4"):
        (await stage.push(queue=queue, version=wrong)).error(400, "invalid_request")
    (await stage.push(queue=queue, type="kind.a@new")).error(400, "invalid_request")
    longest = await stage.enqueue(queue, type="k" * 251 + "@3.0")
    stage.equal((len(longest["type"]), longest["version"]), (251, "3.0"), "type and version")
    (await stage.push(queue=queue, type="k" * 252 + "@3.0")).error(400, "invalid_request")
    same = {"type": stage.name("kind").replace("-", "_"), "unique": {"keys": ["type"]}}
    (await stage.push(queue=queue, version=1, **same)).expect(201)
    (await stage.push(queue=queue, version=2, **same)).expect(201)
    (await stage.push(queue=queue, version="1.0", **same)).error(409, "duplicate")


@case("OJS-VER-004", "OJS-VER-006", "OJS-VER-007", capability=VERSIONING)
async def versions_of_handlers(stage: Stage) -> None:
    """A worker that said its handlers in a BEAT gets only jobs of versions that they take."""
    queue, worker = stage.name(), stage.name("w")
    fits = await stage.enqueue(queue, type="kind.a", version="2.9")
    plain = await stage.enqueue(queue, type="kind.a")
    late = await stage.enqueue(queue, type="kind.a", version="3.0")

    async def given(versions: str) -> list[str]:
        answered = [{"type": "kind.a", "versions": versions}]
        body = {"worker_id": worker, "handlers": answered}
        (await stage.post("workers/heartbeat", body)).expect(200)
        found: list[str] = []
        while jobs := await stage.fetch(queue, worker):
            found += [job["id"] for job in jobs]
        return sorted(found)

    stage.equal(await given(">=1.0 <3.0"), sorted([fits["id"], plain["id"]]), "jobs that it takes")
    (await stage.get(f"jobs/{late['id']}")).expect(200, {"job.state": "available"})
    stage.equal(await given(">=3.0"), [late["id"]], "jobs that it takes after another BEAT")


@case("OJS-VER-004", "OJS-VER-005", "OJS-VER-006", "OJS-VER-017", capability=VERSIONING)
async def handlers_of_registration(stage: Stage) -> None:
    """A worker that registered handlers gets only jobs that they take; others get all."""
    queue, worker = stage.name(), stage.name("w")
    for wrong in ("latest", "^1.0", ">=", 1, None):
        body = {"worker_id": worker, "handlers": [{"type": "kind.a", "versions": wrong}]}
        (await stage.post("workers/register", body)).error(400, "invalid_request")
    expected = [
        (await stage.enqueue(queue, type="kind.a", version="2.9"))["id"],
        (await stage.enqueue(queue, type="kind.b"))["id"],
    ]
    third = await stage.enqueue(queue, type="kind.a", version="3.0")
    other = await stage.enqueue(queue, type="kind.b", version=1)
    handlers = [{"type": "kind.a", "versions": ">=1.0, <3.0"}]
    body = {"worker_id": worker, "handlers": handlers}
    (await stage.post("workers/register", body)).expect(200)
    taken = [job["id"] for job in await stage.fetch(queue, worker, count=9)]
    stage.equal(taken, expected, "jobs of versions that are taken")
    (await stage.get(f"jobs/{third['id']}")).expect(200, {"job.state": "available"})
    body["handlers"] = [{"type": "kind.a", "versions": "3.7"}]
    (await stage.post("workers/heartbeat", body)).expect(200)
    later = [job["id"] for job in await stage.fetch(queue, worker, count=9)]
    stage.equal(later, [third["id"]], "jobs after a BEAT")
    rest = [job["id"] for job in await stage.fetch(queue, stage.name("w"), count=9)]
    stage.equal(rest, [other["id"]], "jobs of a worker that says nothing")


@case("OJS-VER-004", "OJS-VER-005", capability=VERSIONING)
async def bounds_of_versions(stage: Stage) -> None:
    """A version at a bound is taken or not as the sign says, and without a sign by its number."""
    versions = ["1.0", "1.1", "1.2", "2.0"]
    ranges = {
        ">=1.1": versions[1:],
        ">1.1": versions[2:],
        "<=1.1": versions[:2],
        "<1.1": versions[:1],
        "=1.1": ["1.1"],
        "1.1": versions[:3],
    }
    for bounds, expected in ranges.items():
        queue, worker = stage.name(), stage.name("w")
        for version in versions:
            await stage.enqueue(queue, type="kind.a", version=version)
        body = {"worker_id": worker, "handlers": [{"type": "kind.a", "versions": bounds}]}
        (await stage.post("workers/register", body)).expect(200)
        taken = [job["version"] for job in await stage.fetch(queue, worker, count=9)]
        stage.equal(taken, expected, f"versions within {bounds}")


@case("OJS-VER-011", "OJS-VER-012", "OJS-VER-013", capability=VERSIONING)
async def routing(stage: Stage) -> None:
    """New jobs without a version get one by weight, and equal jobs stay equal."""
    queue, kind = stage.name(), stage.name("kind").replace("-", "_")
    path = f"admin/routing/{kind}"
    (await stage.get(path)).error(404, "not_found")
    (await stage.delete(path)).error(404, "not_found")
    share = {"version": 1, "weight": 3}
    rules = [share, {"version": "2.0", "weight": 1}]
    twice = [share, {"version": "1.0", "weight": 1}]
    for wrong in ([], [{**share, "weight": 0}], twice, [{**share, "weight": 1001}], [7], None):
        (await stage.call("PUT", path, {"rules": wrong})).error(400, "invalid_request")
    watched = {"rules": rules, "auto_rollback": {"error_rate_threshold": 0.1}}
    (await stage.call("PUT", path, watched)).error(422, "unsupported")
    (await stage.get(path)).error(404, "not_found")
    (await stage.call("PUT", path, {"rules": [share]})).expect(201)
    (await stage.call("PUT", path, {"rules": rules})).expect(200, {"type": {"$eq": kind}})
    stage.equal((await stage.get(path))["rules"], rules, "the rules")

    same = {"unique": {"keys": ["type"]}, "type": kind, "queue": queue}
    first = (await stage.push(**same)).expect(201, {"job.version_routed": True})
    (await stage.push(**same)).error(409, "duplicate")
    (await stage.delete(f"jobs/{first['job.id']}")).expect(200)
    many = await stage.enqueue_many(queue, 20, type=kind)
    versions = [job["version"] for job in many]
    counts = versions.count(1), versions.count("2.0")
    stage.check(sum(counts) == 20 and counts[1] in (4, 5, 6), "shares of 3 to 1", str(counts))
    chain = {"type": "chain", "steps": [{"type": kind, "args": [], "options": {"queue": queue}}]}
    (await stage.post("workflows", chain)).expect(201)
    own = await stage.enqueue(queue, type=kind, version=7)
    stage.equal((own["version"], own.get("version_routed")), (7, None), "a version of its own")
    given = [job.get("version") for job in await stage.fetch(queue, count=22)]
    stage.check(len(given) == 22 and given[20] in (1, "2.0"), "a step's version", str(given))
    (await stage.delete(path)).expect(200, {"deleted": True})
    free = await stage.enqueue(queue, type=kind)
    stage.equal((free.get("version"), free.get("version_routed")), (None, None), "no version")


@case("OJS-VER-008", "OJS-VER-009", "OJS-VER-010", capability=VERSIONING)
async def tags_of_runtimes(stage: Stage) -> None:
    """A job is kept from a runtime that lacks one of its tags; jobs behind it are handed out."""
    queue = stage.name()
    needs = {"name": "wasi:ojs", "min": "0.1.0", "tags": ["gpu", "simd"]}
    job = await stage.enqueue(queue, meta={RUNTIME: needs})
    stage.equal(job["meta"][RUNTIME], needs, "what the job needs")
    plain = await stage.enqueue(queue)
    lacking = await stage.fetch(queue, count=9, runtime={"name": "wasi:ojs", "tags": ["gpu"]})
    stage.equal([worker["id"] for worker in lacking], [plain["id"]], "jobs without simd")
    able = {"tags": ["simd", "net", "gpu"]}
    stage.equal((await stage.take(queue, runtime=able))["id"], job["id"], "job with all tags")
    again = await stage.enqueue(queue, meta={RUNTIME: needs})
    stage.equal((await stage.take(queue))["id"], again["id"], "job where nothing is said")
    for wrong in ("gpu", ["g pu"], [1], ["t"] * 17):
        (await stage.push(queue=queue, meta={RUNTIME: {"tags": wrong}})).error(
            400, "invalid_request"
        )
        (await stage.send_fetch(queue, runtime={"tags": wrong})).error(400, "invalid_request")
