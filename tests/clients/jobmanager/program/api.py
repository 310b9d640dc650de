"""The api object of a program that uses zndraw-joblib, as its documentation describes it."""

from typing import Any

import httpx
from zndraw_joblib.exceptions import ProblemDetail, ProviderTimeout, TaskNotFound, WorkerNotFound


class Api:
    """The server's address, a connection, and the key of a principal."""

    def __init__(self, url: str, key: str = "") -> None:
        self.base_url = url
        self.http = httpx.Client(timeout=90, trust_env=False)
        self._key = key

    def get_headers(self) -> dict[str, str]:
        """The key, if there is one."""
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def raise_for_status(self, response: httpx.Response) -> None:
        """Raise the errors that the client's protocol names."""
        if response.is_success:
            return
        problem = ProblemDetail.model_validate(response.json())
        for kind in (TaskNotFound, WorkerNotFound, ProviderTimeout):
            if problem.type == kind.type_uri():
                kind.raise_for_client(problem)
        status = response.status_code
        told = f"{problem.type}: {problem.detail}"
        if status == 404:
            raise KeyError(told)
        if status in (401, 403):
            raise PermissionError(told)
        if status in (400, 409, 422):
            raise ValueError(told)
        response.raise_for_status()

    def get(self, path: str, /, **query: Any) -> Any:
        """Send a GET below the prefix and return its JSON."""
        answer = self.send("GET", path, params=query or None)
        self.raise_for_status(answer)
        return answer.json()

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Any call below the prefix."""
        headers = {**self.get_headers(), **more.pop("headers", {})}
        return self.http.request(
            method, f"{self.base_url}/v1/joblib{path}", headers=headers, **more
        )
