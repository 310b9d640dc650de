"""Mutants that no case catches, by subject, function, change and line, each with the reason.

Other changes of a file leave them known.
"""

from typing import Final

# No client can tell them from the rules.
EQUIVALENT: Final[dict[str, str]] = {
    "access.failed_attempts Attempts.fail gt-gte: if len(self._failed) > ADDRESSES:": (
        "The bound of memory is one address lower, which ten thousand addresses would have to see."
    ),
    "access.failed_attempts Attempts.fail add-sub: all_since + PER_MS - now if in_all > "
    "MOST_IN_ALL else 0,": (
        "A thousand wrong keys from a hundred addresses within a minute reach it, which no clause "
        "is about."
    ),
    "cron.expression next_fire gt-gte: if fires is not None and fires > after:": (
        "Only local times later than that of `after` are looked at, and a moment has one local "
        "time: none of them fires at `after` itself."
    ),
    "event_buffer EventBuffer.of in-notin: elif run.template.type in kinds:": (
        "Only events of jobs that are enqueued come in runs, and whoever asks for events by their "
        "types asks for others and passes these over."
    ),
    "fairness.weighted_fair FairScheduler.take gt-gte: if len(self._next) > MOST:": (
        "Places are forgotten at one taker fewer, of many thousands."
    ),
    "fairness.weighted_fair FairScheduler.__init__ 0-1: self._at = 0": (
        "Places of takers are only compared with each other, and all are counted from here."
    ),
    "jobs.filter from_query 9-10: if priority is not None and len(priority) < 9 and "
    'priority.removeprefix("-").isdecimal():': (
        "A priority of nine digits is refused with 400 as a number, too."
    ),
    "jobs.filter _states 100-101: text = item[:100] if isinstance(item, str) else kind_of(item)": (
        "The message of a refusal has one more character of what was wrong."
    ),
    "profile Profile.sign_every_ms 4-5: return min(SIGN_EVERY_MS, shortest // 4)": (
        "Signs of life are stored often enough for the shortest limit; a fifth of it is often "
        "enough, too."
    ),
    'workflows.events event_of 0-1: data["duration_ms"] = max(0, now - workflow.created_at)': (
        "A workflow ends in a later transaction than the one that made it; no client can put both "
        "into the same millisecond."
    ),
    "webhooks.webhook passed is-isnot: left = tuple(pause for pause in pauses if pause[1] is None "
    "or pause[1] > cursor)": (
        "Only active subscriptions are moved, and all of their pauses have ends."
    ),
}
# A case is missing.
UNCAUGHT: Final[dict[str, str]] = {
    "jobs.history _place or-and: return happening.at, happening.attempt or 0, order": (
        "A delivery would have to end, and the next one to begin, in the same millisecond."
    ),
}
# Modules about settings of a server that the suite does not know.
SETTINGS: Final[dict[str, str]] = {
    "access.client_address": "No clause says which proxies a server trusts; it has unit tests.",
}
