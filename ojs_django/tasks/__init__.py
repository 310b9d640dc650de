"""A backend for `django.tasks`, and on Django 5.2 for its backport, the package `django-tasks`.

    TASKS = {"default": {"BACKEND": "ojs_django.tasks.OJSBackend"}}

The tasks are run by `manage.py ojs_worker`.
"""

from ojs_django.tasks.backend import OJSBackend

__all__ = ["OJSBackend"]
