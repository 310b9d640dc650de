"""``python -m tests.openapi``: write openapi.yaml from the parts in openapi/."""

from ojs_server.http.dialects import ALIASES
from tests.http.contract import FILE
from tests.openapi.bundle import PartsError, bundle
from tests.openapi.layout import text


def main() -> None:
    """Run the command."""
    try:
        document = bundle(ALIASES)
    except PartsError as error:
        raise SystemExit(str(error)) from error
    FILE.write_text(text(document), encoding="utf-8")


if __name__ == "__main__":
    main()
