"""The SDK at home in Django: jobs of an Open Job Spec server in projects.

    INSTALLED_APPS = [..., "ojs_django"]
    OJS = {"URL": "http://127.0.0.1:8080"}

    # shop/jobs.py
    router = Router()

    @router.job("email.send")
    def send_email(to: str) -> None: ...

    # shop/views.py
    enqueue_after_commit(send_email, [order.email])

Then `manage.py ojs_worker`. Tasks of `django.tasks` have the backend `ojs_django.tasks.OJSBackend`.
"""

try:
    import django  # noqa: F401
except ImportError as missing:
    raise ImportError("this needs Django: pip install 'ojs-reference[django]'") from missing

from ojs_django.enqueueing import (
    aenqueue,
    enqueue,
    enqueue_after_commit,
    enqueue_bulk,
    job_request,
)
from ojs_django.project import get_client, get_worker

__all__ = [
    "aenqueue",
    "enqueue",
    "enqueue_after_commit",
    "enqueue_bulk",
    "get_client",
    "get_worker",
    "job_request",
]
