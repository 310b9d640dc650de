"""The claim of Zeebe's workers, who know jobs by their numbers."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import astuple

from ojs_server.ops.jobs.numeric_ids import numbers_of
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers.claim import ClaimPolicy, FetchedJob, FetchedJobs


class NumberedJob(FetchedJob, frozen=True, kw_only=True):
    """A job handed to a worker, with its number."""

    number: int


class Numbered(ClaimPolicy, frozen=True):
    """Hand out jobs with their numbers."""

    def finished(self, work: Work, answers: Mapping[int, FetchedJobs]) -> Mapping[int, FetchedJobs]:
        """Return the jobs with their numbers; jobs without one get it."""
        jobs = {
            one.claimed.job.id: one.claimed.job for answer in answers.values() for one in answer
        }
        numbers = numbers_of(work, list(jobs.values())) if jobs else {}
        return {
            index: FetchedJobs(
                NumberedJob(*astuple(one), number=numbers[one.claimed.job.id]) for one in answer
            )
            for index, answer in answers.items()
            if answer
        }


NUMBERED: Final = Numbered()


def number_of(job: FetchedJob) -> int:
    """Return the number of a job that was claimed with it."""
    assert isinstance(job, NumberedJob)
    return job.number
