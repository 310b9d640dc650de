"""Test of the modules that importing the SDK loads, in a process of its own."""

import subprocess
import sys

UNWANTED = ("ojs_worker.testing", "ojs_server", "pytest", "pytest_ojs", "starlette", "apsw")


def test_the_sdk_comes_without_its_testing_tools_and_without_the_server() -> None:
    say = f"import sys, ojs_worker; print([name for name in {UNWANTED} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", say], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
