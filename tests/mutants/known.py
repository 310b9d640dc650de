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
}
