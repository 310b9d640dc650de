"""A site of Django where people sign up, in one file.

The view stores a user, and enqueues a job in the same transaction. The job welcomes the user.

    ojs-server --database :memory: &
    python examples/django/signup.py http://127.0.0.1:8080

Its worker runs in a thread beside the site here; in a project it is `manage.py ojs_worker`, and the
handlers are in the module `jobs` of an app.
"""

import sys
import tempfile
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from ojs_django import enqueue_after_commit, get_client, get_worker
from ojs_worker import BlockingContext, Router

router = Router()


@router.job("user.welcome", queue="mail", retry=5)
def welcome(ctx: BlockingContext, user_id: int) -> str:
    """Welcome a user; the metadata tell from which request the job came."""
    from django.contrib.auth.models import User

    user = User.objects.get(pk=user_id)
    return f"welcomed {user.email}, who came by request {ctx.job.meta['ojs.context.request_id']}"


def sign_up(request: HttpRequest) -> HttpResponse:
    """Store a user; if the address is refused, nobody is welcomed."""
    from django.contrib.auth.models import User

    address = request.POST["email"]
    with transaction.atomic():
        user = User.objects.create_user(address, address)
        job_id = enqueue_after_commit(welcome, [user.pk])
        if not address.endswith("@example.org"):
            transaction.set_rollback(True)
            return HttpResponse("not from here", status=400)
    return HttpResponse(job_id)


urlpatterns = [path("sign-up/", sign_up)]


def main(url: str, folder: Path) -> None:
    """Let two people sign up, of whom one is refused."""
    settings.configure(
        SECRET_KEY="of the example",
        ALLOWED_HOSTS=["testserver"],
        ROOT_URLCONF=__name__,
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "ojs_django"],
        MIDDLEWARE=["ojs_django.middleware.context"],
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "shop.db")}
        },
        OJS={"URL": url, "QUEUES": ["mail"]},
    )
    django.setup()
    call_command("migrate", verbosity=0)
    get_worker().include(router)
    browser = Client(headers={"X-Request-ID": "r-1"})
    refused = browser.post("/sign-up/", {"email": "eve@example.com"})
    accepted = browser.post("/sign-up/", {"email": "ada@example.org"})
    print(refused.status_code, accepted.status_code)
    with get_worker().in_thread():
        print(get_client().result(accepted.content.decode(), timeout_s=30))
    print(sum(1 for _ in get_client().jobs.list(type="user.welcome")), "job")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(sys.argv[1], Path(made))
