"""The tables of the shop."""

from django.db import models


class Order(models.Model):
    """An order, and how it goes on."""

    email: "models.TextField[str, str]" = models.TextField()
    state: "models.TextField[str, str]" = models.TextField(default="new")
