"""The context of a request in the jobs that it enqueues."""

from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connections
from django.http import HttpRequest
from django.test import AsyncClient, Client, RequestFactory

from ojs_django import enqueue, get_worker
from ojs_django.request_context import context_of
from ojs_worker.request_context import during
from ojs_worker.testing import Sandbox

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def meta(ojs: Sandbox) -> dict[str, Any]:
    """Return the metadata of the only job."""
    (job,) = ojs.all_jobs()
    return job.meta


@pytest.fixture
def request_of_a_tenant() -> HttpRequest:
    request = RequestFactory().get("/", headers={"X-Request-ID": "r-1", "traceparent": PARENT})
    request.tenant_id = 12  # type: ignore[attr-defined]
    return request


@pytest.mark.parametrize("path", ["/buy/", "/buy-later/"])
def test_a_view_stores_its_user_locale_and_request(ojs: Sandbox, shop: Path, path: str) -> None:
    client = Client(headers={"X-Request-ID": "r-1", "Accept-Language": "de"})
    user = User.objects.create_user("ada")
    client.force_login(user)
    client.get(path)
    assert meta(ojs) == {
        "ojs.context.user_id": str(user.pk),
        "ojs.context.request_id": "r-1",
        "ojs.context.locale": "de",
    }


async def test_so_does_a_view_that_is_a_coroutine(ojs: Sandbox, shop: Path) -> None:
    client = AsyncClient()
    user = await User.objects.acreate_user("ada")
    await client.aforce_login(user)
    await client.get("/buy-in-loop/", headers={"X-Request-ID": "r-1"})
    await sync_to_async(connections.close_all)()
    assert meta(ojs)["ojs.context.user_id"] == str(user.pk)
    assert meta(ojs)["ojs.context.request_id"] == "r-1"


async def test_so_does_the_client_for_event_loops(
    ojs: Sandbox, request_of_a_tenant: HttpRequest
) -> None:
    with during(lambda: context_of(request_of_a_tenant)):
        await get_worker().client.enqueue("order.note")
    assert meta(ojs) == {
        "ojs.context.request_id": "r-1",
        "tenant_id": "12",
        "traceparent": PARENT,
    }


def test_the_metadata_of_the_producer_stay(ojs: Sandbox, request_of_a_tenant: HttpRequest) -> None:
    with during(lambda: context_of(request_of_a_tenant)):
        enqueue("order.note", meta={"tenant_id": "other", "shop": 1})
    assert meta(ojs)["tenant_id"] == "other"
    assert meta(ojs)["shop"] == 1


@pytest.mark.parametrize(
    "headers",
    [{"X-Request-ID": "x" * 129}, {"X-Request-ID": "a\x07b"}, {"traceparent": "00-nonsense"}, {}],
)
def test_headers_that_are_too_long_or_malformed_are_left_out(
    ojs: Sandbox, headers: dict[str, str]
) -> None:
    with during(lambda: context_of(RequestFactory().get("/", headers=headers))):
        enqueue("order.note")
    assert meta(ojs) == {}


def test_without_a_request_there_is_no_context(ojs: Sandbox) -> None:
    enqueue("order.note")
    assert meta(ojs) == {}
