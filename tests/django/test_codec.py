"""A codec for arguments, which the settings name."""

from collections.abc import Iterator

import pytest
from django.test import override_settings

from ojs_django import get_worker
from ojs_worker.testing import Sandbox
from tests.django.shop import tasks


@pytest.fixture
def ojs() -> Iterator[Sandbox]:
    with (
        override_settings(OJS={"CODEC": "tests.django.shop.codec.codec"}),
        Sandbox(get_worker()) as sandbox,
    ):
        yield sandbox


def test_the_server_cannot_read_arguments_and_results_of_tasks_have_them(ojs: Sandbox) -> None:
    result = tasks.greet.enqueue("secret")
    assert "secret" not in str(ojs.blocking_client.jobs.show(result.id))
    ojs.drain_blocking()
    result.refresh()
    assert (result.args, result.is_finished) == (["secret"], True)
    assert tasks.greet.get_result(result.id).args == ["secret"]
