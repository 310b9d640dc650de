"""JSON log lines, in the same form for all programs."""

import logging
import time
from collections.abc import Sequence
from typing import Any, Final

from ojs_wire.codec import encode

_NUMBERS: Final = {"DEBUG": 5, "INFO": 9, "WARNING": 13, "ERROR": 17, "CRITICAL": 21}
_SEVERITY: Final = {"WARNING": "WARN", "CRITICAL": "FATAL"}


class JsonFormatter(logging.Formatter):
    """One JSON object a line; `extra` names what a record may carry besides."""

    def __init__(self, component: str, extra: Sequence[str] = ()) -> None:
        super().__init__()
        self._component = component
        self._extra = tuple(extra)

    def format(self, record: logging.LogRecord) -> str:
        """The record with its severity, component and error."""
        millis = int(record.created * 1000)
        line: dict[str, Any] = {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{millis % 1000:03d}Z",
            "severity": _SEVERITY.get(record.levelname, record.levelname),
            "severity_number": _NUMBERS.get(record.levelname, 9),
            "message": record.getMessage(),
            "component": self._component,
            "logger": record.name,
        }
        for name in self._extra:
            if (value := getattr(record, name, None)) is not None:
                line[name] = value
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line["error"] = {
                "type": type(error).__name__,
                "message": str(error),
                "backtrace": self.formatException(record.exc_info).splitlines(),
            }
        try:
            return encode(line).decode()
        except UnicodeEncodeError:
            # A lone surrogate, from a header or a file name, cannot be encoded as JSON.
            return encode({name: _printable(value) for name, value in line.items()}).decode()


def _printable(value: Any) -> Any:
    return ascii(value) if isinstance(value, str | dict) else value
