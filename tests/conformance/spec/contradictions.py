"""Contradictions of meaning to plant into a copy of specification, contract and cases.

The first table was chosen before the comparison was written, the second after it.
"""

import re
from pathlib import Path
from typing import Final

import msgspec


class Planted(msgspec.Struct, frozen=True):
    """One edit that makes two places say different things, and what a message about it names."""

    sort: str
    file: str
    was: str
    now: str
    places: tuple[str, ...]  # each is named in the one line about it
    follows: str = ""  # text of further lines that are right as well

    def plant(self, tree: Path) -> None:
        """Make the edit in a copy of the tree."""
        path = tree / self.file
        text = path.read_text(encoding="utf-8")
        # Lines of clauses may be broken anywhere.
        spaces = r"\s+" if path.suffix == ".md" else " "
        found = list(re.finditer(spaces.join(map(re.escape, self.was.split(" "))), text))
        assert len(found) == 1, (self.file, self.was, len(found))
        made = text[: found[0].start()] + self.now + text[found[0].end() :]
        path.write_text(made, encoding="utf-8")

    def found_in(self, lines: list[str]) -> list[str]:
        """Return the lines that name all places of it."""
        return [line for line in lines if all(place in line for place in self.places)]

    def explains(self, line: str) -> bool:
        """Return True if a line is about it, or about what follows from it."""
        return bool(self.found_in([line])) or bool(self.follows and self.follows in line)


FIRST: Final = (
    Planted(
        "unit",
        "spec/07-heartbeat-and-workers.md",
        "heartbeat timeout, 30 seconds unless",
        "heartbeat timeout, 30 milliseconds unless",
        ("OJS-WRK-032",),
    ),
    Planted(
        "unit",
        "spec/10-dead-letter.md",
        "asked for that, is kept for 180 days.",
        "asked for that, is kept for 180 hours.",
        ("OJS-DLQ-003",),
    ),
    Planted(
        "direction",
        "spec/33-websocket.md",
        "A connection has at most 100 channels",
        "A connection has at least 100 channels",
        ("OJS-WSK-013",),
    ),
    Planted(
        "direction",
        "spec/15-idempotency.md",
        "A key is remembered for at least 24 hours.",
        "A key is remembered for at most 24 hours.",
        ("OJS-IDM-009",),
    ),
    Planted(
        "negation",
        "spec/05-fetch.md",
        "A job whose `expires_at` has come is not handed out.",
        "A job whose `expires_at` has come is handed out.",
        ("OJS-FET-010",),
    ),
    Planted(
        "negation",
        "spec/06-settle.md",
        "It does not send the same ACK or FAIL again.",
        "It sends the same ACK or FAIL again.",
        ("OJS-SET-010",),
    ),
    Planted(
        "negation",
        "spec/20-cron.md",
        "A disabled entry does not fire, and its",
        "A disabled entry does fire, and its",
        ("OJS-CRN-008",),
    ),
    Planted(
        "enum in a clause",
        "spec/07-heartbeat-and-workers.md",
        "`running`, `quiet` or `terminate`. **OJS-WRK-005**",
        "`running`, `quiet` or `terminated`.\n\n**OJS-WRK-005**",
        ("OJS-WRK-004",),
    ),
    Planted(
        "enum in the contract",
        "openapi.yaml",
        "            strategy: {enum: [reject, block, drop_oldest, null]}",
        "            strategy: {enum: [reject, block, drop_newest, null]}",
        ("drop_newest",),
    ),
    Planted(
        "enum in the contract",
        "openapi.yaml",
        "enum: [wait, reschedule, drop, null]",
        "enum: [wait, reschedule, discard, null]",
        ("on_limit",),
    ),
    Planted(
        "status in a clause",
        "spec/06-settle.md",
        "ACK and FAIL of another worker than the holder are refused with 409.",
        "ACK and FAIL of another worker than the holder are refused with 404.",
        ("OJS-SET-030",),
    ),
    Planted(
        "status in a case",
        "conformance/cases/limits.py",
        '(await stage.fail(job, error=error)).error(413, "payload_too_large")',
        '(await stage.fail(job, error=error)).error(400, "payload_too_large")',
        ("OJS-LIM-010",),
    ),
    Planted(
        "default",
        "spec/20-cron.md",
        "is hidden after FETCH for 600 seconds",
        "is hidden after FETCH for 60 seconds",
        ("OJS-CRN-026",),
    ),
    Planted(
        "default",
        "spec/17-jobs.md",
        "`timeout` (30 by default) seconds",
        "`timeout` (60 by default) seconds",
        ("OJS-JOB-010", "timeout"),
    ),
    Planted(
        "length in the contract",
        "openapi.yaml",
        "maxLength: 512",
        "maxLength: 500",
        ("OJS-SCH-015", "uri"),
    ),
    Planted(
        "number of items in the contract",
        "openapi.yaml",
        "          description: Only jobs of these types.\n          type: [array, 'null']\n"
        "          minItems: 1\n          maxItems: 1000",
        "          description: Only jobs of these types.\n          type: [array, 'null']\n"
        "          minItems: 1\n          maxItems: 100",
        ("OJS-FET-004", "job_types"),
    ),
    Planted(
        "required in the contract",
        "openapi.yaml",
        "- {type: object, properties: {worker_id: "
        "{$ref: '#/components/schemas/OptionalWorkerId'}}}",
        "- {type: object, required: [worker_id], properties: {worker_id: "
        "{$ref: '#/components/schemas/OptionalWorkerId'}}}",
        ("OJS-FET-003", "worker_id"),
        "worker_id' is a required property",
    ),
    Planted(
        "optional in the contract",
        "openapi.yaml",
        "- {$ref: '#/components/schemas/AckByIdRequest'}\n"
        "        - {required: [job_id], properties: {job_id: {type: string}}}",
        "- {$ref: '#/components/schemas/AckByIdRequest'}\n"
        "        - {properties: {job_id: {type: string}}}",
        ("OJS-SET-001", "job_id"),
    ),
    Planted(
        "reference",
        "spec/07-heartbeat-and-workers.md",
        "is a sign of life, for presence and for OJS-WRK-032, as long as it is held",
        "is a sign of life, for presence and for OJS-WRK-023, as long as it is held",
        ("OJS-WRK-040", "OJS-WRK-023"),
    ),
    Planted(
        "case of the opposite",
        "conformance/cases/lifecycle.py",
        """(await stage.delete(f"jobs/{job['id']}")).expect(409)
        stage.equal((await stage.look(job))["state"], state, "state")""",
        """(await stage.delete(f"jobs/{job['id']}")).expect(200)
        stage.equal((await stage.look(job))["state"], state, "state")""",
        ("lifecycle.ended_jobs_cannot_be_cancelled",),
    ),
)

SECOND: Final = (
    Planted(
        "direction",
        "spec/30-event-streams.md",
        "is sent at least every 15 seconds.",
        "is sent at most every 15 seconds.",
        ("OJS-STR-012",),
    ),
    Planted(
        "unit in the contract",
        "openapi.yaml",
        "show it from now on, for 24 hours.",
        "show it from now on, for 24 minutes.",
        ("24 minutes",),
    ),
    Planted(
        "refused or accepted",
        "spec/01-envelope.md",
        "what is no UUIDv7 is refused.",
        "what is no UUIDv7 is accepted.",
        ("OJS-ENV-009",),
    ),
    Planted(
        "one or both",
        "spec/10-dead-letter.md",
        "retry or delete the same dead letter, one succeeds.",
        "retry or delete the same dead letter, both succeed.",
        ("OJS-DLQ-010",),
    ),
    Planted(
        "enum in the contract",
        "openapi.yaml",
        "on_conflict: {enum: [reject, replace, replace_except_schedule, ignore]}",
        "on_conflict: {enum: [reject, replace, replace_but_schedule, ignore]}",
        ("replace_but_schedule",),
    ),
    Planted(
        "default in the contract",
        "openapi.yaml",
        "maximum: 1, default: 0.8}",
        "maximum: 1, default: 0.9}",
        ("OJS-BPR-007", "warning_threshold"),
    ),
    Planted(
        "status in a case",
        "conformance/cases/cron.py",
        "(await stage.get(f\"cron/{stage.name('cron')}\")).expect(404)",
        "(await stage.get(f\"cron/{stage.name('cron')}\")).expect(200)",
        ("OJS-CRN-007",),
    ),
    Planted(
        "reference",
        "spec/03-http.md",
        "A search that has ended before the list (OJS-BLK-018) does not know",
        "A search that has ended before the list (OJS-BLK-008) does not know",
        ("OJS-HTP-047", "OJS-BLK-008"),
    ),
    Planted(
        "number of items in a clause",
        "spec/04-enqueue.md",
        "`tags` (at most 100) is an array of strings.",
        "`tags` (at most 50) is an array of strings.",
        ("OJS-ENQ-012", "tags"),
    ),
    Planted(
        "duration in a table",
        "spec/08-retry.md",
        "| `max_interval` | `PT5M` |",
        "| `max_interval` | `PT5S` |",
        ("OJS-RET-001", "max_interval"),
    ),
)
