"""The nouns of `ojs` by sections of the help, their aliases and verbs as flags.

Made by `make reference` of the entries that the modules in `commands/` declare.
"""

from collections.abc import Mapping
from typing import Final

SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "See": {
        "top": "queues, workers and failures, live, with keys that repair",
        "doctor": "what is wrong with a deployment, and how to mend it",
        "status": "what the server is, how it does, and what is wrong",
        "stats": "what went in and out, by the minute or the hour",
        "events": "what happens, as it happens",
        "actions": "what people and their keys changed",
    },
    "Jobs": {
        "enqueue": "store a job",
        "jobs": "list, show, search, watch, retry, cancel, delete",
        "dead": "jobs that have failed for good: list, retry, delete",
        "workflows": "list, show, retry, cancel",
        "cron": "what runs by the clock: list, add, run, pause, resume, delete",
        "schemas": "of arguments: list, show, register, validate, compare, delete",
    },
    "Queues and workers": {
        "queues": "list, show, pause, resume, config, purge",
        "workers": "list, show, quiet, resume, terminate",
        "limits": "rate limits by key: list, show, set, unset",
        "pools": "groups of workers with queues of their own: list, show, add, delete",
        "tenants": "list, show, config, delete",
    },
    "Whole servers": {
        "nodes": "the servers of a database: where they run, and since when",
        "webhooks": "list, add, test, pause, deliveries, redeliver, delete",
        "export": "write jobs as they would be enqueued, a line each",
        "import": "enqueue jobs from such lines",
        "backup": "copy the database of a server, with state and history",
        "restore": "put such a copy back, while no server runs",
    },
    "Programs": {
        "server": "run a job server (ojs-server)",
        "worker": "run a worker (ojs-worker)",
        "conformance": "judge a server, worker or adapter (ojs-conformance)",
        "outbox": "jobs in a program's database: create, run, status, retry",
        "ui": "serve the dashboard of any server",
        "completion": "print the completion of a shell: bash, zsh, fish",
    },
}
ALIASES: Final[Mapping[str, str]] = {
    "monitor": "top",
    "stat": "stats",
    "event": "events",
    "action": "actions",
    "job": "jobs",
    "dead-letter": "dead",
    "dead-letters": "dead",
    "deadletter": "dead",
    "workflow": "workflows",
    "crons": "cron",
    "schema": "schemas",
    "queue": "queues",
    "worker-list": "workers",
    "limit": "limits",
    "rate-limit": "limits",
    "rate-limits": "limits",
    "pool": "pools",
    "tenant": "tenants",
    "node": "nodes",
    "webhook": "webhooks",
}
FLAGS: Final[Mapping[str, Mapping[str, str]]] = {
    "dead": {"--retry": "retry", "--delete": "delete", "--purge": "delete"},
    "workflows": {"--cancel": "cancel", "--status": "show"},
    "cron": {"--pause": "pause", "--resume": "resume", "--trigger": "run", "--delete": "delete"},
    "queues": {"--pause": "pause", "--resume": "resume", "--purge": "purge", "--stats": "show"},
    "workers": {"--quiet": "quiet", "--resume": "resume", "--terminate": "terminate"},
}
