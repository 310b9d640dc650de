"""The action log, page by page."""

from collections.abc import Mapping
from typing import Any, Final

from ojs_server.domain.admin.action import Action, ActionFilter
from ojs_server.domain.errors import invalid
from ojs_server.http.access.roles import LOOK
from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import number
from ojs_server.http.route import Route
from ojs_wire.values import UUID7, format_timestamp, parse_timestamp, position_of, position_uuid

_PREFIX: Final = "act_"
_NEWEST: Final = 2**63 - 1
_DEFAULT: Final = 50
_MOST: Final = 500


async def listing(call: Call) -> Answer:
    """List the actions of operators, newest first."""
    query = call.query_params
    limit = number(query, "limit", _DEFAULT, 1, _MOST)
    below = _below(query.get("cursor"))
    selection = ActionFilter(
        name=query.get("name") or None,
        call=query.get("call") or None,
        target=query.get("target") or None,
        since=_moment(query, "since"),
        until=_moment(query, "until"),
    )
    # Read one more than shown, to know whether there is a next page.
    found = await call.server.engine.read(
        lambda reader: reader.actions(selection, below, limit + 1)
    )
    pagination: dict[str, Any] = {"limit": limit, "has_more": len(found) > limit}
    if len(found) > limit:
        pagination["next_cursor"] = _id(found[limit - 1])
    return Answer(
        {"actions": [_shown(action) for action in found[:limit]], "pagination": pagination}
    )


def _shown(action: Action) -> dict[str, Any]:
    actor = action.actor
    return {
        "id": _id(action),
        "time": format_timestamp(action.at),
        "who": {
            "name": actor.name,
            "role": actor.role,
            "via": actor.via,
            "tenant": actor.tenant,
            "address": actor.address,
        },
        "call": actor.call,
        "target": actor.target,
        "outcome": action.outcome,
        "request_id": actor.request_id,
    }


def _id(action: Action) -> str:
    return _PREFIX + position_uuid(action.at, action.position)


def _below(cursor: str | None) -> int:
    if not cursor:
        return _NEWEST
    if not (cursor.startswith(_PREFIX) and UUID7.fullmatch(cursor[len(_PREFIX) :])):
        raise invalid("cursor", "must be the next_cursor of an earlier page")
    return min(position_of(cursor[len(_PREFIX) :]), _NEWEST)


def _moment(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name)
    if not text:
        return None
    try:
        return parse_timestamp(text)
    except ValueError as error:
        raise invalid(name, str(error)) from None


ROUTES: Final = (Route("GET", "/admin/actions", listing, LOOK),)
