"""The decorator of tasks, which programs import from Django 6, or from its backport."""

from typing import TYPE_CHECKING

import django

if TYPE_CHECKING or django.VERSION >= (6,):
    from django.tasks import task
else:
    from django_tasks import task

__all__ = ["task"]
