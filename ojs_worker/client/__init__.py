"""Enqueueing jobs and asking about them, with an event loop or without."""

from ojs_worker.client.asynchronous import Client
from ojs_worker.client.blocking import BlockingClient
from ojs_worker.client.flows import Flow, batch, chain, group
from ojs_worker.client.handle import BlockingJobHandle, JobHandle, Progress
from ojs_worker.client.options import Options, RateLimit, RetryPolicy, Unique
from ojs_worker.client.records import CronEntry, Workflow
from ojs_worker.client.requests import JobRequest

__all__ = [
    "BlockingClient",
    "BlockingJobHandle",
    "Client",
    "CronEntry",
    "Flow",
    "JobHandle",
    "JobRequest",
    "Options",
    "Progress",
    "RateLimit",
    "RetryPolicy",
    "Unique",
    "Workflow",
    "batch",
    "chain",
    "group",
]
