"""Answers about a job say what the log has, and never go back."""

from tests.simulation.oracles import answers, stories
from tests.simulation.oracles.answers import Seen
from tests.simulation.oracles.stored import Stored
from tests.simulation.oracles.stories import Story
from tests.simulation.world import World


def judge(world: World, stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    told = stories.of(stored)
    seen: dict[str, list[Seen]] = {}
    for one in answers.of(world).seen():
        if one.job_id in told.jobs:
            seen.setdefault(one.job_id, []).append(one)
    for job_id, sightings in seen.items():
        if sentence := contradiction(told.jobs[job_id], sightings):
            world.ledger.wrong("reads", sentence)


def contradiction(story: Story, sightings: list[Seen]) -> str | None:
    """An answer shows the job as it was between the request and the answer: not before what an
    answer showed that came before the request was sent.

    Each answer is given the earliest place of the story that fits it, so that an answer for which
    there is none is wrong for certain.
    """
    found: list[tuple[float, int]] = []
    for one in sorted(sightings, key=lambda one: one.until):
        least = max((place for at, place in found if at < one.since), default=0)
        fitting = next(
            (number for number in range(least, len(story.places)) if fits(story, number, one)),
            None,
        )
        call = one.call
        if fitting is None:
            path = [f"{place.state} {place.attempt}" for place in story.places]
            return (
                f"{call.method} {call.path} of {call.who} at {call.sent_at:.3f} says that"
                f" {story.job_id} is {one.state} {one.attempt}; it was known to be at"
                f" place {least} of {path}"
            )
        found.append((one.until, fitting))
    return None


def fits(story: Story, number: int, one: Seen) -> bool:
    """True if an answer can be about this place of the story."""
    place = story.places[number]
    return place.state == one.state and one.attempt in (None, place.attempt)
