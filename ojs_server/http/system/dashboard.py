"""The dashboard's files and error page, and the redirect for a browser that opens the server's
address."""

from typing import Final

from ojs_server.domain.errors import NotFound
from ojs_server.http.call import Answer, Call
from ojs_server.http.errors import parts_of
from ojs_server.http.path_forms import PathForm
from ojs_server.http.responses import NOT_MODIFIED
from ojs_server.http.route import ANYONE, Route
from ojs_server.http.system.manifest import manifest
from ojs_ui import error_page, files

_FOUND: Final = 302
_AT: Final = "/ui/"


async def root(call: Call) -> Answer:
    """Redirect a browser to the dashboard; answer the manifest to other clients."""
    if "text/html" in (call.header(b"accept") or ""):
        return Answer(b"", _FOUND, {"Location": _AT, "Vary": "Accept"}, "text/plain")
    answer = await manifest(call)
    return Answer(answer.body, headers={"Vary": "Accept"})


async def entrance(call: Call) -> Answer:
    """Redirect to the dashboard from paths where it may be expected."""
    return Answer(b"", _FOUND, {"Location": _AT}, "text/plain")


async def page(call: Call) -> Answer:
    """Serve the document of every page."""
    return _sent(call, files.page())


async def asset(call: Call) -> Answer:
    """Serve a file that the document loads."""
    found = files.asset(call.path_params["file"])
    if found is None:
        raise NotFound("the dashboard has no such file")
    return _sent(call, found)


def _sent(call: Call, file: files.File) -> Answer:
    sent = file.sent(call.header(b"accept-encoding"), call.header(b"if-none-match"))
    if sent.body is None:
        return Answer(b"", NOT_MODIFIED, sent.headers)
    return Answer(sent.body, headers=sent.headers, media_type=file.media_type)


def _refused(call: Call, error: BaseException) -> Answer:
    """Return the answer for an error as a page, which browsers show in place of the dashboard."""
    code, body, headers = parts_of(error, call.request_id)
    page = error_page.error_page(call.root + _AT, code.status, body["message"], call.request_id)
    return Answer(page, code.status, {**headers, **error_page.HEADERS}, error_page.MEDIA_TYPE)


FORM: Final = PathForm(_AT.rstrip("/"), _refused)
ROUTES: Final = (
    Route("GET", "/", root, ANYONE),
    Route("GET", "/ui", entrance, ANYONE),
    # The path at which the protocol's own tools look for a dashboard.
    Route("GET", "/ojs/admin/", entrance, ANYONE),
    Route("GET", "/ui/", page, ANYONE),
    Route("GET", "/ui/{page}", page, ANYONE),
    Route("GET", "/ui/assets/{file}", asset, ANYONE),
)
