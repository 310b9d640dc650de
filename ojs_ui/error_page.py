"""The page that a browser shows where the dashboard's own cannot be sent."""

from html import escape
from typing import Final

from ojs_ui.files import POLICY

MEDIA_TYPE: Final = "text/html; charset=utf-8"
HEADERS: Final = {"Content-Security-Policy": POLICY}
# Interval at which the page loads itself again, if the error may pass.
RETRY_S: Final = 5
_TOO_MANY: Final = 429
_SERVER_ERROR: Final = 500


def error_page(at: str, status: int, message: str, request_id: str) -> bytes:
    """Return the page of an error, of a dashboard at a path."""
    base = escape(at, quote=True)
    transient = status >= _SERVER_ERROR or status == _TOO_MANY
    refresh = f'<meta http-equiv="refresh" content="{RETRY_S}">' if transient else ""
    again = f"<p>This page tries again every {RETRY_S} s.</p>" if transient else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{refresh}
<title>Error {status} · Jobs</title>
<link rel="icon" href="{base}assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="{base}assets/style.css">
</head>
<body>
<main id="main">
<div class="head"><h1>The server answered {status}</h1></div>
<div class="failure"><p>{escape(message)}</p><p><code>{escape(request_id)}</code></p></div>
{again}
<p><a href="{base}">Open the dashboard</a></p>
</main>
</body>
</html>
""".encode()
