"""Promises about unique jobs: never two of a kind in the states of its policy."""

from typing import Any

import msgspec

from ojs_server.domain.jobs.job import TERMINAL
from ojs_wire.values import parse_duration
from tests.simulation.oracles import answers, stories
from tests.simulation.oracles.answers import Answers
from tests.simulation.oracles.stored import Stored, StoredEvent
from tests.simulation.oracles.stories import Place, Stories, Story
from tests.simulation.world import World

Fingerprint = tuple[Any, ...]
DEFAULT_STATES = ("available", "active", "scheduled", "retryable", "pending")


def judge(world: World, stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    told, known = stories.of(stored), answers.of(world)
    for sentence in alone(told, known):
        world.ledger.wrong("unique", sentence)
    for sentence in met(known):
        world.ledger.wrong("unique", sentence)


def fingerprint(job: dict[str, Any]) -> Fingerprint | None:
    """Return what makes a job equal to others; None if it has no policy."""
    policy = job.get("options", {}).get("unique")
    if policy is None:
        return None
    given = policy.get("keys", ["type"])
    keys = {given} if isinstance(given, str) else set(given)
    names = tuple(sorted(policy.get("meta_keys", ())))
    compared = sorted(keys | {"type"} | ({"meta"} if names else set()))
    alike: list[Any] = [tuple(compared), names, job["type"]]
    if "queue" in compared:
        alike.append(job.get("options", {}).get("queue", "default"))
    if "args" in compared:
        alike.append(msgspec.json.encode(job["args"], order="sorted"))
    alike += [msgspec.json.encode(job.get("meta", {}).get(name)) for name in names]
    return tuple(alike)


def alone(told: Stories, known: Answers) -> list[str]:
    """A new job met no equal one in the states and period of its policy, or has replaced it in the
    same change (OJS-UNI-009 to 017)."""
    equal: dict[Fingerprint, list[Story]] = {}
    pending: dict[Fingerprint, list[Story]] = {}
    for job_id in known.enqueues:
        alike, story = fingerprint(known.request(job_id)), told.jobs.get(job_id)
        if alike is None or story is None or story.created is None:
            continue
        # There is no event that tells when a pending job was made.
        kind = pending if known.options(job_id).get("pending") else equal
        kind.setdefault(alike, []).append(story)
    found = []
    for alike, jobs in equal.items():
        jobs.sort(key=lambda story: story.created.place if story.created else 0)
        for number, story in enumerate(jobs):
            if story.created and any(
                _was_replaced(other, story.created) for other in pending.get(alike, ())
            ):
                continue
            if sentence := stored_in_spite(story, jobs[:number], known.options(story.job_id)):
                found.append(sentence)
    return found


def stored_in_spite(story: Story, others: list[Story], options: dict[str, Any]) -> str | None:
    """Return the sentence about a job that was stored although equal ones were in its way: of
    these the newest that has not ended counts, and is to be replaced if the policy says so."""
    policy, made = options["unique"], story.created
    assert made is not None
    in_the_way = [other for other in others if _is_in_the_way(other, made, policy)]
    if policy.get("on_conflict", "reject").startswith("replace"):
        in_the_way = [one for one in in_the_way if _at(one, made.place).state not in TERMINAL][-1:]
        in_the_way = [one for one in in_the_way if not _was_replaced(one, made)]
        if any(_was_replaced(other, made) for other in others):
            return None
    if not in_the_way:
        return None
    other = in_the_way[-1]
    return (
        f"{story.job_id} was stored while the equal {other.job_id} was"
        f" {_at(other, made.place).state}: {policy}"
    )


def _is_in_the_way(other: Story, made: StoredEvent, policy: dict[str, Any]) -> bool:
    before = other.created
    assert before is not None
    if "period" in policy and made.at - before.at >= parse_duration(policy["period"]):
        return False
    place = _at(other, made.place)
    # The end of a backoff has no event: the job waits for it, or is available already.
    possible = {place.state} if place.entry is not None else {"retryable", "available"}
    return possible <= set(policy.get("states", DEFAULT_STATES))


def _was_replaced(other: Story, made: StoredEvent) -> bool:
    return any(
        entry.type == "job.cancelled" and entry.transaction == made.transaction
        for entry in other.entries
    )


def _at(story: Story, pos: int) -> Place:
    """Return the state of a job just before a position of the log."""
    found = story.places[0]
    for place in story.places:
        if place.entry is not None and place.entry.place >= pos:
            break
        found = place
    return found


def met(known: Answers) -> list[str]:
    """An answer that names the equal job names one that is equal, and a refusal one in a state of
    the policy (OJS-UNI-009, OJS-UNI-012, OJS-UNI-013); that it was in this state is judged with
    all that is read."""
    found = []
    for call in known.calls:
        if call.method != "POST" or call.path != "/jobs" or not isinstance(call.answer, dict):
            continue
        other: str | None = None
        if call.well and call.answer.get("deduplicated"):
            other = call.answer["job"]["id"]
        elif call.status == 409:
            details = call.answer["error"].get("details") or {}
            if "uniqueness_key" in details:
                other = details["existing_job_id"]
                states = call.body["options"]["unique"].get("states", DEFAULT_STATES)
                if details["existing_job_state"] not in states:
                    found.append(f"{call.body} was refused for {details}")
        if other in (None, call.body["id"]) or other not in known.enqueues:
            continue
        if fingerprint(call.body) != fingerprint(known.request(other)):
            found.append(f"{call.body} was told to be equal to {known.request(other)}")
    return found
