"""The servers and clients of the HTTP tests, for the examples of the contract."""

from tests.http.conftest import client as client
from tests.http.conftest import serve as serve
from tests.http.conftest import server as server
