"""The Django project of the tests: a shop."""

import os
from typing import Any

import django
from psycopg.conninfo import conninfo_to_dict

SECRET_KEY = "of the tests"
ALLOWED_HOSTS = ["testserver"]
USE_TZ = True
ROOT_URLCONF = "tests.django.shop.urls"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    *(["django_tasks"] if django.VERSION < (6,) else []),
    "ojs_django",
    "tests.django.shop",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "ojs_django.middleware.context",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def of_postgres(url: str) -> dict[str, Any]:
    """Return the settings of a database by its URL."""
    given = conninfo_to_dict(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": given["dbname"],
        **{name.upper(): given.get(name, "") for name in ("user", "host", "port")},
        "OPTIONS": {"options": given["options"]} if "options" in given else {},
    }


# Fixtures put others into their places; processes that tests start are given them.
POSTGRES_URL = os.environ.get("SHOP_POSTGRES_URL", "postgresql:///shop")
DATABASES: dict[str, dict[str, Any]] = {
    "sqlite": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("SHOP_SQLITE", ":memory:"),
    },
    "postgres": of_postgres(POSTGRES_URL),
}
DATABASES["default"] = DATABASES[os.environ.get("SHOP_STORE", "sqlite")]
OJS: dict[str, Any] = {"QUEUES": ["default"], "DASHBOARD": "https://jobs.example/ui/"}
TASKS: dict[str, Any] = {
    "default": {"BACKEND": "ojs_django.tasks.OJSBackend", "QUEUES": ["default", "quick"]},
    "patient": {
        "BACKEND": "ojs_django.tasks.OJSBackend",
        "OPTIONS": {"retry": {"max_attempts": 3, "initial_interval": 60, "jitter": False}},
    },
    "committed": {"BACKEND": "ojs_django.tasks.OJSBackend", "ENQUEUE_ON_COMMIT": True},
}
