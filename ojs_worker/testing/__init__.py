"""Testing what enqueues and what handles jobs, on a real server of the test's own.

    from ojs_worker.testing import Sandbox

    with Sandbox(worker) as ojs:
        signup("ada@example.org")
        ojs.assert_enqueued("email.send", args={"to": "ada@example.org"})
        ojs.drain_blocking()

This package alone may start a server, which is loaded when a sandbox starts.
"""

from ojs_worker.testing.asgi import AsgiTransport
from ojs_worker.testing.clock import Clock
from ojs_worker.testing.here import Blocking
from ojs_worker.testing.life import Ran
from ojs_worker.testing.sandbox import Sandbox
from ojs_worker.testing.server import ServerMissing

__all__ = [
    "AsgiTransport",
    "Blocking",
    "Clock",
    "Ran",
    "Sandbox",
    "ServerMissing",
]
