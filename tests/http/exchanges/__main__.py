"""Write what `docs/clients.md` has from the recordings."""

import asyncio

from tests.http.exchanges.page import PAGE, written
from tests.http.exchanges.recording import recordings

text = asyncio.run(written(PAGE.read_text(encoding="utf-8"), recordings()))
PAGE.write_text(text, encoding="utf-8")
