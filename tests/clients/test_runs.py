"""The recorded runs of the published clients are of the versions that are installed."""

from tests.clients.runs import locked_version, recorded


def test_each_client_was_run_in_the_version_of_its_lock() -> None:
    versions = {name: client.version for name, client in recorded().items()}
    assert versions == {name: locked_version(name) for name in versions}
