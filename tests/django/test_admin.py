"""The page of jobs in Django's admin."""

from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client, override_settings

from ojs_django import enqueue
from ojs_worker.testing import Sandbox
from tests.django.shop import tasks

PAGE = "/admin/ojs/job/"


@pytest.fixture
def staff(shop: Path) -> User:
    return User.objects.create_user("ada", is_staff=True)


@pytest.fixture
def client(staff: User) -> Client:
    """A client of a user who may see jobs."""
    staff.user_permissions.add(Permission.objects.get(codename="view_job"))
    client = Client()
    client.force_login(staff)
    return client


def page_of(client: Client, query: str = "") -> str:
    answer = client.get(PAGE + query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_it_lists_jobs_with_links_to_the_dashboard(ojs: Sandbox, client: Client) -> None:
    job_id = enqueue("report.make", queue="reports").id
    page = page_of(client)
    assert f'<a href="https://jobs.example/ui/job?id={job_id}">{job_id}</a>' in page
    assert "report.make" in page
    assert f'<a href="{PAGE}">' in client.get("/admin/").content.decode()


def test_it_shows_those_of_a_state_queue_or_type(ojs: Sandbox, client: Client) -> None:
    first, second = enqueue("report.make", queue="reports").id, enqueue("order.note").id
    for query in ("?queue=reports", "?type=report.make", "?state=available&queue=reports"):
        page = page_of(client, query)
        assert first in page
        assert second not in page
    assert "There are no such jobs" in page_of(client, "?state=active")


def test_text_of_others_is_escaped(ojs: Sandbox, client: Client) -> None:
    tasks.fail.enqueue("<script>alert(1)</script>")
    ojs.drain_blocking()
    page = page_of(client, "?type=%3Cscript%3Ealert(2)")
    assert "<script>alert" not in page
    page = page_of(client)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_only_staff_with_the_permission_may_see_it(ojs: Sandbox, staff: User) -> None:
    client = Client()
    assert client.get(PAGE).status_code == 302
    client.force_login(staff)
    assert client.get(PAGE).status_code == 403
    assert PAGE not in client.get("/admin/").content.decode()


def test_a_server_that_cannot_be_reached_is_told(client: Client) -> None:
    # The name is reserved, so that nobody answers.
    with override_settings(OJS={"URL": "http://ojs:secret@jobs.invalid", "DEADLINE": 0}):
        page = page_of(client)
    assert "The server did not list its jobs" in page
    assert "secret" not in page
    assert 'href="http://jobs.invalid/ui/"' in page
