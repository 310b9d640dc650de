"""Faults of HTTP: statuses, headers, values, errors, access, and the manifest."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from ojs_server.domain.access.failed_attempts import MOST, Attempts
from ojs_server.domain.admin.statistics import Recent
from ojs_server.domain.errors import Denied
from ojs_server.http import call as calls
from ojs_server.http import dialects, pipeline, prefer_header
from ojs_server.http.access.key_check import KeyCheck
from ojs_server.http.access.keys import Keys
from ojs_server.http.access.roles import in_order
from ojs_server.http.jobs import enqueue
from ojs_server.http.jobs.views import envelopes
from ojs_server.http.paths import Paths
from ojs_server.http.queues import read as queues
from ojs_server.http.system import manifest
from ojs_server.http.system.inventory import Inventories
from ojs_server.http.workers import fetch
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.traffic import V1, change_answer, change_query, drop_answer_header, drop_header


@fault("OJS-JOB-003")
def missing_jobs_are_well() -> None:
    """A job that is not there is answered with 200."""
    change_answer(f"{V1}/jobs/.*", status=404, becomes=200)


@fault("OJS-HTP-005")
def missing_paths_are_wrong_requests() -> None:
    """A path that is not there is answered with 400."""
    change_answer(f"{V1}/nothing.*", status=404, becomes=400)


@fault("OJS-ERR-014")
def missing_paths_have_no_error() -> None:
    """The answer to a path that is not there has no error."""
    change_answer(f"{V1}/nothing.*", lambda body: body.pop("error"), status=404)


@fault("OJS-HTP-039")
def methods_are_not_told() -> None:
    """A 405 has no `Allow`."""
    drop_answer_header("Allow")


@fault("OJS-HTP-013")
def media_type_is_plain_json() -> None:
    """Every answer is `application/json`."""
    put(dialects, "media_type", lambda *_: "application/json")


@fault("OJS-HTP-015")
def version_is_missing() -> None:
    """Answers do not say their version."""
    drop_answer_header("OJS-Version")


@fault("OJS-HTP-016")
def every_version_is_spoken() -> None:
    """A request in any version of the protocol is answered."""
    put(dialects, "check_version", lambda version: None)


@fault("OJS-HTP-017")
def request_id_is_missing() -> None:
    """Answers have no X-Request-Id."""
    drop_answer_header("X-Request-Id")


@fault("OJS-HTP-032")
def request_ids_are_replaced() -> None:
    """A request's own id is not kept."""
    put(pipeline, "sent_request_id", lambda call: None)


@fault("OJS-HTP-018")
def location_is_missing() -> None:
    """The answer to an enqueue has no `Location`."""
    drop_answer_header("Location")


@fault("OJS-HTP-021")
def pages_have_no_limit() -> None:
    """`limit` is ignored."""
    change_query(lambda query: query.pop("limit", None))


@fault("OJS-HTP-023")
def totals_count_the_page() -> None:
    """The total of a list is the length of its page."""

    def short(body: dict[str, Any]) -> None:
        body["pagination"]["total"] = len(body["jobs"]) - 1

    change_answer(f"{V1}/dead-letter", short, status=200)


@fault("OJS-HTP-012")
def strict_servers_are_lenient() -> None:
    """A strict server takes calls with unknown members."""
    put(calls, "refuse_unknown", lambda where, given, known: None)


@fault("OJS-ENV-025")
def times_have_no_zone() -> None:
    """Timestamps end without `Z`."""

    def strip(body: dict[str, Any]) -> None:
        job = body.get("job", {})
        for name, value in job.items():
            if isinstance(value, str) and re.fullmatch(r"\d{4}-.*T.*Z", value):
                job[name] = value[:-1]

    change_answer(f"{V1}/jobs", strip, status=201)


@fault("OJS-ENV-013")
def empty_members_are_null() -> None:
    """A member without a value is answered as null."""

    def add(body: dict[str, Any]) -> None:
        body["job"].setdefault("started_at", None)

    change_answer(f"{V1}/jobs", add, status=201)


def _errors(change: Callable[[dict[str, Any]], object]) -> None:
    change_answer(".*", lambda body: change(body["error"]) if "error" in body else None)


@fault("OJS-ERR-001")
def errors_have_no_code() -> None:
    """The error object lacks its code."""
    _errors(lambda error: error.pop("code"))


@fault("OJS-ERR-002")
def nothing_may_be_repeated() -> None:
    """Every error has `retryable` false."""
    _errors(lambda error: error.update(retryable=False))


@fault("OJS-ERR-004")
def errors_name_another_request() -> None:
    """The request_id of an error is not that of the answer."""
    _errors(lambda error: error.update(request_id="req_unknown"))


@fault("OJS-ERR-005")
def what_is_missing_is_not_told() -> None:
    """A 404 does not name the kind of the missing resource."""
    change_answer(".*", lambda body: body["error"].pop("details", None), status=404)


@fault("OJS-MAN-022")
def claims_are_empty() -> None:
    """The manifest claims workflows, and their paths are not there."""

    def make(find: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, path: None if "workflows" in path else find(self, path)

    wrap(Paths, "find", make)


@fault("OJS-HTP-029")
def preferences_are_not_heard() -> None:
    """The preference `wait` is ignored."""
    drop_header("prefer")


@fault("OJS-HTP-029")
def preferences_are_not_told() -> None:
    """No answer has `Preference-Applied`."""
    drop_answer_header("Preference-Applied")


@fault("OJS-HTP-029")
def preferences_outrank_all() -> None:
    """A preferred wait counts also where the body of a FETCH says another."""
    wrap(fetch, "wait_of", lambda wait_of: lambda call, said_ms: wait_of(call, None))


@fault("OJS-HTP-030")
def the_last_preference_counts() -> None:
    """The last one counts of a preference that is given twice."""
    wrap(
        prefer_header,
        "parse",
        lambda parse: lambda text: parse(",".join(reversed(text.split(",")))),
    )


@fault("OJS-ENQ-033")
def batches_are_never_short() -> None:
    """A batch is answered with whole jobs, whatever its producer prefers."""
    put(enqueue, "minimal_jobs", envelopes)


@fault("OJS-MAN-019")
def workers_are_forgotten_in_health() -> None:
    """Health in detail counts no workers."""
    change_answer(f"{V1}/health/detail", lambda body: body.update(workers=None), status=200)


@fault("OJS-MAN-016")
def version_stands_inside_alone() -> None:
    """The manifest says its name and version below `implementation` alone."""
    change_answer("/ojs/manifest", lambda body: body.pop("version"), status=200)


@fault("OJS-MAN-027")
def capabilities_are_a_list() -> None:
    """The manifest lists the names of its capabilities."""
    change_answer(
        "/ojs/manifest", lambda body: body.update(capabilities=[*body["capabilities"]]), status=200
    )


@fault("OJS-MAN-028")
def versions_are_of_a_draft() -> None:
    """The manifest says the version of a draft, by both names."""
    draft = dict.fromkeys(("specversion", "ojs_version"), "1.0.0-rc.1")
    change_answer("/ojs/manifest", lambda body: body.update(draft), status=200)


@fault("OJS-MAN-017")
def everybody_reads_names() -> None:
    """The manifest names queues to callers without a key."""
    put(manifest, "known", lambda call: True)


@fault("OJS-MAN-017")
def tenants_read_all_names() -> None:
    """The manifest names the queues of all tenants to each tenant."""
    wrap(Inventories, "of", lambda of: lambda self, tenant: of(self, None))


@fault("OJS-MAN-017")
def names_are_not_told() -> None:
    """The manifest has no queues and no types of jobs."""

    def without(body: dict[str, Any]) -> None:
        body.pop("queues", None)
        body.pop("job_types", None)

    change_answer("/ojs/manifest", without, status=200)


@fault("OJS-ACC-004")
def roles_do_not_matter() -> None:
    """Every key may do everything."""
    put(Keys, "permit", lambda self, principal, allowed: principal)


@fault("OJS-ACC-018")
def one_role_counts() -> None:
    """Of several roles of a key only the first counts."""
    wrap(
        Keys,
        "roles_of",
        lambda roles_of: lambda self, of: frozenset(in_order(roles_of(self, of))[:1]),
    )


@fault("OJS-ACC-015")
def wrong_keys_need_not_wait() -> None:
    """An address may show as many wrong keys as it likes."""
    put(Attempts, "fail", lambda self, address, now: 0)


@fault("OJS-ACC-016")
def right_keys_wait_as_well() -> None:
    """After many wrong keys of an address its right ones are refused, too."""
    refusals: list[Denied] = []

    def make(prove: Any) -> Any:
        def proved(self: KeyCheck, key: str, address: str) -> Any:
            if len(refusals) > MOST:
                raise refusals[-1]
            try:
                return prove(self, key, address)
            except Denied as error:
                refusals.append(error)
                raise

        return proved

    wrap(KeyCheck, "prove", make)


@fault("OJS-ACC-017")
def keys_are_not_asked_for() -> None:
    """A 401 has no `WWW-Authenticate`."""
    drop_answer_header("WWW-Authenticate")


@fault("OJS-HTP-010")
def calls_need_a_body() -> None:
    """Calls that need nothing are refused without a body."""
    put(calls, "parsed_if_any", calls.parsed)


@fault("OJS-HTP-025")
def arguments_are_not_copied() -> None:
    """The copy of a job has no arguments."""
    change_answer(f"{V1}/jobs/[^/]+", lambda body: body.pop("args", None))


@fault("OJS-HTP-025")
def errors_are_copied() -> None:
    """The copy of a job has the error of its last attempt."""
    change_answer(f"{V1}/jobs/[^/]+", lambda body: body.update(body.get("job", {})))


@fault("OJS-HTP-025")
def cron_is_always_an_expression() -> None:
    """`cron` is the expression of an entry for all clients."""
    put(dialects, "names_version", lambda call: True)


@fault("OJS-HTP-025")
def cron_is_never_an_expression() -> None:
    """`cron` is the entry itself for all clients."""
    put(dialects, "names_version", lambda call: False)


@fault("OJS-HTP-031")
def second_names_are_missing() -> None:
    """The total of a list stands in its pagination only."""
    put(dialects, "counted", lambda pagination: {"pagination": pagination})


@fault("OJS-QUE-014")
def failures_of_the_last_hour_are_not_counted() -> None:
    """The statistics of a queue know no failed attempts."""
    after(queues, "last_hour", _without_failures)


async def _without_failures(found: Awaitable[Recent], *_: object) -> Recent:
    return replace(await found, failed_last_hour=0)
