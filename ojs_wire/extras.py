"""Commands whose dependencies are in an extra of the package, and may not be installed."""

import sys


def explain(program: str, extra: str, missing: ModuleNotFoundError) -> int:
    """Print which extra a program needs, and return its exit code.

    An ImportError of our own modules is raised again, as no extra provides them.
    """
    if missing.name is None or missing.name.startswith("ojs_"):
        raise missing
    print(f"{program}: needs {missing.name}: pip install 'ojs-reference[{extra}]'", file=sys.stderr)
    return 1
