"""The pytest plugin, in test runs of its own."""

import sys

import pytest

from tests.worker.testing.inner import Inner, inner

__all__ = ["inner"]

pytest_plugins = "pytester"

JOBS = """
from ojs_worker import Worker
worker = Worker()

@worker.job("email.send")
async def send(to: str) -> str:
    return f"sent to {to}"
"""


@pytest.fixture
def project(inner: Inner) -> Inner:
    """A project with a worker, and a setting that names it."""
    inner.write("plugged_jobs.py", JOBS)
    inner.configure("ojs_worker = plugged_jobs:worker\n")
    return inner


def test_a_fixture_gives_each_test_a_sandbox_with_the_workers(project: Inner) -> None:
    project.write(
        "test_it.py",
        """
        from plugged_jobs import send

        def test_in_plain_functions(ojs):
            send.enqueue_blocking(to="ada")
            ojs.assert_enqueued(send, args={"to": "ada"})
            ojs.drain_blocking()
            ojs.assert_completed(send, result="sent to ada")

        async def test_in_coroutines(ojs):
            ojs.assert_not_enqueued()
            assert (await ojs.run(send, to="bob")).result == "sent to bob"

        async def test_inline(ojs_inline):
            job = await send.enqueue(to="eve")
            assert ojs_inline.job(job).result == "sent to eve"
        """,
    )
    project.run().assert_outcomes(passed=3)


def test_a_failed_assertion_points_at_the_test_and_shows_the_nearest(project: Inner) -> None:
    project.write(
        "test_it.py",
        """
        from plugged_jobs import send

        def test_it(ojs):
            send.enqueue_blocking(to="ada")
            ojs.assert_enqueued(send, args={"to": "eve"})
        """,
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*email.send with args {'to': 'eve'}: none was enqueued*",
            "E*args.to is 'ada', not 'eve'",
        ]
    )
    result.stdout.no_fnmatch_line("*expectations.py*")


def test_a_fixture_of_the_project_may_name_the_workers(project: Inner) -> None:
    project.write(
        "conftest.py",
        """
        import pytest
        from ojs_worker import Worker
        own = Worker()

        @own.job("own.job")
        def own_job() -> int:
            return 7

        @pytest.fixture
        def ojs_workers():
            return [own]
        """,
    )
    project.write(
        "test_it.py",
        """
        from conftest import own_job

        def test_it(ojs):
            assert ojs.run_blocking(own_job).result == 7
        """,
    )
    project.run().assert_outcomes(passed=1)


def test_wrong_names_and_a_missing_server_are_told_in_plain_words(
    project: Inner, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.configure("ojs_worker = plugged_jobs:wroker\n")
    project.write("test_it.py", "def test_it(ojs): pass\n")
    result = project.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["the setting ojs_worker: plugged_jobs has no wroker; did you mean *worker*"]
    )
    project.configure("")
    for name in ("ojs_server", "ojs_server.app"):
        monkeypatch.setitem(sys.modules, name, None)
    result = project.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*ojs_server cannot be imported here*pip install*ojs-reference?testing?*"]
    )


def test_whoever_does_not_use_it_does_not_load_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_it(pytestconfig):
            assert pytestconfig.pluginmanager.has_plugin("ojs")
            assert not {"ojs_worker", "ojs_server"} & sys.modules.keys()
        """
    )
    slow = ("-pno:schemathesis", "-pno:hypothesispytest", "-pno:cacheprovider")
    pytester.runpytest_subprocess(*slow).assert_outcomes(passed=1)
