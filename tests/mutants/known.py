"""Mutants that no case catches, by subject, function, change and line, each with the reason.

Other changes of a file leave them known.
"""

from typing import Final

# No client can tell them from the rules.
EQUIVALENT: Final[dict[str, str]] = {}
# A case is missing.
UNCAUGHT: Final[dict[str, str]] = {
    "compat.variables with_variables 1-2: "
    "merged = [{**_own(given), **more}, *(given[1:] if _has_object(given) else ())]": (
        "No case of Zeebe has a job with several arguments."
    ),
    "compat.room _part 0-1: if not isinstance(value, str) or not 0 < len(value) <= MAX_PART:": (
        "No case has a category or name of one letter."
    ),
    "webhooks.delivery tried turned: "
    "error = None if reply.error is None else reply.error[:MAX_ERROR]": (
        "No case looks for the error of a delivery."
    ),
    'workflows.events told 0-1: data["duration_ms"] = max(0, now - workflow.created_at)': (
        "No case measures the duration of a workflow to the millisecond."
    ),
    "workflows.graph graph gt-gte: if sum(len(step.depends_on) for step in steps) > MAX_EDGES:": (
        "No case has a workflow with exactly 10,000 dependencies."
    ),
}
