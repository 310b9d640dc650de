"""Recent jobs in Django's admin, with links to the dashboard, where more can be done."""

from contextlib import closing
from itertools import islice
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from ojs_django import conf
from ojs_django.models import Job
from ojs_django.project import get_client, get_worker
from ojs_worker.errors import OjsError
from ojs_worker.job import Job as ServersJob

# Jobs on the page; the dashboard has all.
SHOWN: Final = 100
# A page is not waited for as long as an enqueue.
DEADLINE_S: Final = 5.0
FILTERS: Final = ("state", "queue", "type")
STATES: Final = (
    *("available", "active", "scheduled", "retryable", "pending"),
    *("completed", "discarded", "cancelled"),
)


@admin.register(Job)
class JobAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """One page: the list of jobs."""

    def get_urls(self) -> list[URLPattern]:
        """Return the address of the list alone."""
        return [path("", self.admin_site.admin_view(self.list_jobs), name="ojs_job_changelist")]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Jobs are enqueued by the program."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Jobs are changed in the dashboard."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Jobs are deleted in the dashboard."""
        return False

    def list_jobs(self, request: HttpRequest) -> HttpResponse:
        """Show the newest jobs, those of a state, queue or type if one is given."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        given = {name: request.GET.get(name, "").strip() for name in FILTERS}
        error, jobs = None, []
        try:
            jobs = _newest({name: value for name, value in given.items() if value})
        except OjsError as refused:
            error = str(refused)
        dashboard = _dashboard()
        context = {
            **self.admin_site.each_context(request),
            "title": "Jobs",
            "opts": self.opts,
            "rows": [(job, f"{dashboard}job?{urlencode({'id': job.id})}") for job in jobs],
            "is_cut": len(jobs) == SHOWN,
            "error": error,
            "given": given,
            "states": STATES,
            "dashboard": dashboard,
        }
        return TemplateResponse(request, "ojs_django/jobs.html", context)


def _newest(given: dict[str, str]) -> list[ServersJob]:
    filter: Any = given
    with closing(get_client().within(DEADLINE_S).jobs.list(**filter)) as jobs:
        return list(islice(jobs, SHOWN))


def _dashboard() -> str:
    """Return the URL of the dashboard: that of the settings, or that of the server."""
    if (chosen := conf.own().dashboard) is not None:
        return f"{chosen.rstrip('/')}/"
    parts = urlsplit(get_worker().config().url.partition(",")[0])
    # A name and password in the URL are those of the program.
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}/ui/"
