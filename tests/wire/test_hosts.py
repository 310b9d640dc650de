"""Names and addresses of the loopback."""

import pytest

from ojs_wire.hosts import is_loopback


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *[(name, True) for name in ("localhost", "jobs.localhost", "127.0.0.2", "::1", "[::1]")],
        *[(name, False) for name in ("", "example.com", "localhost.example.com", "0.0.0.0", "::")],
    ],
)
def test_names_that_lead_to_the_loopback(name: str, expected: bool) -> None:
    assert is_loopback(name) is expected
