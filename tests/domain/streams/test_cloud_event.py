"""Events as CloudEvents."""

import pytest

from ojs_server.domain.streams.cloud_event import cloud_event, cloud_type
from ojs_wire.codec import decode, encode

EVENT = {
    "specversion": "1.0",
    "id": "evt_1",
    "type": "job.enqueued",
    "source": "ojs://here",
    "time": "2023-11-14T22:13:20Z",
    "subject": "s",
    "datacontenttype": "application/json",
    "data": {"priority": 0, "large": 12345678901234567890, "nothing": None},
}


def test_all_but_the_type_stays() -> None:
    assert decode(cloud_event(encode(EVENT))) == {
        **EVENT,
        "type": "org.openjobspec.job.enqueued",
    }


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("job.failed", "org.openjobspec.job.failed"),
        ("webhook.test", "org.openjobspec.webhook.test"),
        ("job.released", "org.openjobspec.x.job.released"),
        ("maintenance.started", "org.openjobspec.x.maintenance.started"),
    ],
)
def test_what_no_specification_knows_is_custom(kind: str, shown: str) -> None:
    assert cloud_type(kind) == shown
