"""Faults of the calls of Zeebe's clients."""

from contextlib import nullcontext
from typing import Any

import msgspec

from ojs_server.grpc import zeebe as gateway
from ojs_server.grpc.calls import Rpc
from ojs_server.http.compat import zeebe
from ojs_server.ops.jobs import amend, settle
from ojs_wire import codec
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap


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

    def make(known: Any) -> Any:
        async def other(rpc: Any, message: Any) -> None:
            write = rpc.write

            async def once(job: Any) -> bool:
                await write(job)
                return False

            rpc.write = once
            await known["StreamActivatedJobs"](rpc, message)

        return {**known, "StreamActivatedJobs": other}

    wrap(gateway, "BEHAVIOURS", make)


@fault("OJS-ZEE-004")
def headers_are_empty() -> None:
    """A worker sees no custom headers."""
    _activated(headers={})


@fault("OJS-ZEE-004")
def merged_variables_are_all_there_is() -> None:
    """Variables that are merged leave no other argument."""

    def change(stored: Any, *_: Any) -> Any:
        return msgspec.structs.replace(stored, args=codec.encode(codec.decode(stored.args)[:1]))

    for module in (settle, amend):
        after(module, "with_variables", change)


@fault("OJS-ZEE-005")
def retries_leave_the_delivery_out() -> None:
    """The delivery under way is not counted."""
    after(zeebe, "retries_of", lambda left, job: left - 1)


@fault("OJS-ZEE-006")
def completions_replace_variables() -> None:
    """The result of a process has the variables of its completion alone."""
    put(zeebe, "variables_of", lambda args, results=None: {})


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

    wrap(zeebe, "create", make)


@fault("OJS-ZEE-011")
def refusals_are_short() -> None:
    """Calls that need a BPMN engine are refused without a word on what to use instead."""
    wrap(gateway, "NOT_SERVED", lambda known: dict.fromkeys(known, "unimplemented"))


@fault("OJS-ZEE-012")
def incidents_stay_open() -> None:
    """A REST client resolves an incident in vain."""

    async def nothing(*_: Any) -> None: ...

    put(zeebe, "resolve", nothing)
