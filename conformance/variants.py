"""Variants by name: settings of a server that some cases need."""

from typing import Final

MAIN: Final = "main"  # the server of `--server-cmd`
HOOKS: Final = "hooks"
_TIMES: Final = (
    "workers that are silent are unreachable after 1 s, dead after 3 s and deleted after 8 s, "
    "and changes are looked for every 0.5 s or more often"
)

# Servers that `--variant NAME=COMMAND` must start, by name.
VARIANTS: Final[dict[str, str]] = {
    "keys": "one key for each role: conformance-key-of-producer, -worker, -viewer, -operator and "
    "-admin; where a key can have two roles, also -worker+producer",
    "strict": "refuses unknown members (OJS-HTP-012)",
    "brief": "keeps completed, cancelled and discarded jobs and events for two seconds",
    "small": "has room for 2 event streams, for 2 calls of gRPC that wait for jobs, for 20 events "
    "that wait for a slow stream, and for 3 dead letters of each queue",
    HOOKS: "posts webhooks to http addresses of this machine, and has no test hooks on",
    "nodes": "may be started twice with the same {dir} and another {port}, over one database",
    "zones": "takes time zones from files below {dir}/zones too, as they are when it starts",
    "blackboard": f"has the profile blackboard; {_TIMES}; no other time is set",
    "board": "has the profile blackboard, and no time is set",
    "jobmanager": f"has the profile jobmanager; {_TIMES}; no other time is set",
    "jobmanager_keys": "has the profile jobmanager, and one key for each role as with keys",
    "jobmanager_sessions": "has the profile jobmanager, and session_grace of 1 s",
    "zeebe": "has the profile zeebe, and room for 2 calls of gRPC or Camunda that wait for jobs",
    "disordered": "is told that workers are unreachable after 2 s and offline after 1 s, so that "
    "it must not start",
}
