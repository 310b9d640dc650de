"""Write the tables of `docs/clients.md` from the recordings."""

from tests.http.exchanges.page import PAGE, written
from tests.http.exchanges.recording import recordings

PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), recordings()), encoding="utf-8")
