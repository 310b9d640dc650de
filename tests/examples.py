"""The number of examples that a property is tried on: all of them at night, fewer at each push.

Hypothesis' profile says which: `push` is loaded, `--hypothesis-profile=nightly` the other one.
"""

from typing import Final

from hypothesis import HealthCheck, settings

NIGHTLY: Final = "nightly"
PUSH: Final = "push"
# A history goes on from its earlier steps, so that fewer of them are alike, and more are kept.
FEWER_EXAMPLES: Final = 4
FEWER_HISTORIES: Final = 2


def load_profile() -> None:
    """Register both profiles, and load the one for a push."""
    # The duration of an example depends on the machine and its load, not on the code.
    nightly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile(NIGHTLY, nightly)
    settings.register_profile(PUSH, nightly, max_examples=nightly.max_examples // FEWER_EXAMPLES)
    settings.load_profile(PUSH)


def examples(nightly: int) -> int:
    """Return the number of examples of a property of which this many are tried at night."""
    return _fewer(nightly, FEWER_EXAMPLES)


def histories(nightly: int, *, steps: int, random: bool = False) -> settings:
    """Return the settings of a state machine of which this many histories are tried at night.

    They are the same in each run, unless they are random.
    """
    chosen = settings(max_examples=_fewer(nightly, FEWER_HISTORIES), stateful_step_count=steps)
    if random:
        return chosen
    every = list(HealthCheck)
    return settings(chosen, derandomize=True, database=None, suppress_health_check=every)


def _fewer(nightly: int, part: int) -> int:
    return nightly if settings.get_current_profile_name() == NIGHTLY else nightly // part
