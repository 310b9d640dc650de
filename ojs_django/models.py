"""The jobs of the server as a model without a table, for the admin and its permission."""

from uuid import UUID

from django.db import models


class Job(models.Model):
    """A job, which the server has; who may see jobs in the admin has `ojs.view_job`."""

    id: "models.UUIDField[UUID, UUID]" = models.UUIDField(primary_key=True)

    class Meta:
        """There is no table, and jobs are changed in the dashboard."""

        managed = False
        default_permissions = ("view",)
