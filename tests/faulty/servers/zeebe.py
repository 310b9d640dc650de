"""Faults of the calls of Zeebe's clients."""

from contextlib import nullcontext
from http import HTTPStatus
from typing import Any

import msgspec

from ojs_server.domain import fields
from ojs_server.domain.jobs.reported_error import Fault
from ojs_server.grpc.calls import Rpc
from ojs_server.systems.zeebe import jobs as zeebe
from ojs_server.systems.zeebe import problems, processes, search, variables
from ojs_server.systems.zeebe.grpc import gateway
from ojs_wire import codec
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, put_member, wrap


def _activated(**changed: Any) -> None:
    """Change what clients see of a job that they are given."""
    after(zeebe, "_activated", lambda told, *_: msgspec.structs.replace(told, **changed))


@fault("OJS-ZEE-001")
def instances_have_keys_of_their_own() -> None:
    """The instance has another key than its job."""

    def make(shown: Any) -> Any:
        def other(job: Any) -> Any:
            message = shown(job)
            message.processInstanceKey += 1
            return message

        return other

    wrap(gateway, "_job", make)


@fault("OJS-ZEE-002")
def blank_types_are_types() -> None:
    """Jobs of a blank type are waited for."""

    def make(activate: Any) -> Any:
        async def other(call: Any, wish: Any) -> Any:
            return [] if not wish.type.strip() else await activate(call, wish)

        return other

    wrap(zeebe, "activate", make)


@fault("OJS-ZEE-002")
def activations_do_not_wait() -> None:
    """Answer at once if there is no job, whatever `requestTimeout` says."""

    def make(activate: Any) -> Any:
        async def other(call: Any, wish: Any) -> Any:
            return await activate(call, msgspec.structs.replace(wish, wait_ms=-1))

        return other

    wrap(zeebe, "activate", make)


@fault("OJS-ZEE-002")
def any_number_may_wait() -> None:
    """Activations are waited for beyond any number."""
    put(Rpc, "place", lambda rpc: nullcontext())


@fault("OJS-ZEE-003")
def streams_bring_one_job() -> None:
    """A stream ends once it has pushed a job."""

    known = gateway.BEHAVIOURS["StreamActivatedJobs"]

    async def other(rpc: Any, message: Any) -> None:
        write = rpc.write

        async def once(job: Any) -> bool:
            await write(job)
            return False

        rpc.write = once
        await known.act(rpc, message)

    changed = msgspec.structs.replace(known, act=other)
    put_member(gateway.BEHAVIOURS, "StreamActivatedJobs", changed)


@fault("OJS-ZEE-004")
def headers_are_empty() -> None:
    """A worker sees no custom headers."""
    _activated(headers={})


@fault("OJS-ZEE-004")
def merged_variables_are_all_there_is() -> None:
    """Variables that are merged leave no other argument."""

    def change(stored: Any, *_: Any) -> Any:
        return msgspec.structs.replace(stored, args=codec.encode(codec.decode(stored.args)[:1]))

    after(variables, "with_variables", change)


@fault("OJS-ZEE-005")
def retries_leave_the_delivery_out() -> None:
    """The delivery under way is not counted."""
    after(zeebe, "retries_of", lambda left, job: left - 1)


@fault("OJS-ZEE-006")
def completions_replace_variables() -> None:
    """The result of a process has the variables of its completion alone."""
    put(processes, "at_the_end", lambda stored: codec.decode(stored.result))


@fault("OJS-ZEE-013")
def types_have_no_blanks() -> None:
    """A type of several words is refused."""

    def make(check: Any) -> Any:
        def other(name: str, *, any_type: bool) -> bool:
            return check(name, any_type=any_type) and " " not in name

        return other

    wrap(fields, "is_job_type", make)


@fault("OJS-ZEE-014")
def too_many_variables_change_nothing() -> None:
    """A job whose completion is refused for its variables is handed out again."""
    put(zeebe, "too_large", lambda error: Fault("a", "a", error.message))


@fault("OJS-ZEE-007")
def failures_retry_at_once() -> None:
    """A failure does not back off."""

    def make(fail: Any) -> Any:
        async def other(call: Any, key: int, retries: int, message: str, _: int, more: Any) -> None:
            await fail(call, key, retries, message, 0, more)

        return other

    wrap(zeebe, "fail", make)


@fault("OJS-ZEE-008")
def codes_of_errors_are_lost() -> None:
    """The incident of an error has no code of its own."""

    def make(throw: Any) -> Any:
        async def other(call: Any, key: int, _: str, message: str, more: Any) -> None:
            await throw(call, key, "ERROR", message, more)

        return other

    wrap(zeebe, "throw", make)


@fault("OJS-ZEE-009")
def timeouts_stay_as_they_are() -> None:
    """A job is given no more time than it had."""

    def make(update: Any) -> Any:
        async def other(call: Any, key: int, *, retries: Any, timeout_ms: Any) -> None:
            if retries is not None:
                await update(call, key, retries=retries, timeout_ms=None)

        return other

    wrap(zeebe, "update", make)


@fault("OJS-ZEE-010")
def every_version_is_there() -> None:
    """A process is started in whatever version is wished."""

    def make(create: Any) -> Any:
        async def other(*given: Any, **more: Any) -> Any:
            return await create(*given, **{**more, "version": -1})

        return other

    wrap(processes, "create", make)


@fault("OJS-ZEE-011")
def refusals_are_short() -> None:
    """Calls that need a BPMN engine are refused without a word on what to use instead."""
    for name in gateway.NOT_SERVED:
        put_member(gateway.NOT_SERVED, name, "unimplemented")


@fault("OJS-ZEE-012")
def incidents_stay_open() -> None:
    """A REST client resolves an incident in vain."""

    async def nothing(*_: Any) -> None: ...

    put(zeebe, "resolve", nothing)


@fault("OJS-ZEE-015")
def titles_are_those_of_http() -> None:
    """The title of a problem is the phrase of its status."""
    titles = {status: HTTPStatus(status).phrase for status in problems.TITLES}
    put(problems, "TITLES", titles)


@fault("OJS-ZEE-016")
def filters_are_ignored() -> None:
    """A search finds what its filter leaves out."""

    def make(parse: Any) -> Any:
        def other(request: Any, *given: Any) -> Any:
            return parse(msgspec.structs.replace(request, filter=None), *given)

        return other

    wrap(search, "parse_query", make)
