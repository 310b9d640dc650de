"""Ids, timestamps and durations in the OJS formats. Times are integer milliseconds since 1970."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from itertools import accumulate
from typing import Final

UUID7: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.ASCII
)
QUEUE: Final = re.compile(r"[a-z0-9](?:[a-z0-9_.-]{0,253}[a-z0-9])?", re.ASCII)
JOB_TYPE: Final = re.compile(r"[a-z][a-z0-9_-]*(?:\.[a-z][a-z0-9_-]*)*", re.ASCII)
MAX_NAME: Final = 255
# 9999-12-31T23:59:59.999Z, the last moment that RFC 3339 can express.
MAX_TIME: Final = 253_402_300_799_999
MAX_DURATION: Final = 100 * 365 * 86_400_000

_TIMESTAMP: Final = re.compile(
    # Bounded here, because newer Pythons accept 24:00, and all accept an offset of +05:99.
    r"(\d{4}-\d{2}-\d{2})[Tt]((?:[01]\d|2[0-3]):[0-5]\d:\d{2})(?:\.(\d+))?"
    r"(Z|z|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)
_ISO_DURATION: Final = re.compile(
    r"P(?!$)(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?"
    r"(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)
_ISO_UNITS: Final = (
    365 * 86_400_000,
    30 * 86_400_000,
    7 * 86_400_000,
    86_400_000,
    3_600_000,
    60_000,
    1000,
)
_SHORT_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.ASCII)
_SHORT_UNITS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

RandomBits = Callable[[int], int]


def uuid7(now: int, random_bits: RandomBits) -> str:
    """A UUIDv7 for the moment `now`."""
    return _moment_text(now) + _rest_of_uuid7(random_bits(74))


class RisingIds:
    """Generates UUIDv7s that ascend even within a millisecond, so that lists keep their order."""

    def __init__(self, random_bits: RandomBits) -> None:
        self._random_bits = random_bits
        self._moment = -1
        # The last id in two parts: the text before its last 48 bits, and these.
        self._head = ""
        self._last = 0
        # The bits between the timestamp and the last 48.
        self._middle = 0

    def __call__(self, now: int) -> str:
        """The next id, for the moment `now`."""
        # A random step, because two threads may read the same number.
        last = self._last + 1 + self._random_bits(32)
        if now != self._moment:
            # Start in the lower half of the range: more steps remain than fit into a millisecond.
            self._begin(now, self._random_bits(25))
            last = self._random_bits(48)
        elif last > _LAST_PART:
            self._begin(now, self._middle + 1)
            last &= _LAST_PART
        self._last = last
        return self._head + last.to_bytes(6).hex()

    def many(self, now: int, count: int) -> list[str]:
        """The next ids, for the moment `now`."""
        if now != self._moment:
            return [self(now), *self.many(now, count - 1)] if count else []
        steps = memoryview(self._random_bits(32 * count).to_bytes(4 * count)).cast("I")
        # Strictly ascending, even with steps of zero.
        numbers = [above + far for above, far in enumerate(accumulate(steps, initial=self._last))]
        if numbers[-1] > _LAST_PART:
            return [self(now) for _ in range(count)]
        self._last, head = numbers[-1], self._head
        return [head + number.to_bytes(6).hex() for number in numbers[1:]]

    def _begin(self, now: int, middle: int) -> None:
        self._moment, self._middle = now, middle
        self._head = (_moment_text(now) + _rest_of_uuid7(middle << 48))[:-12]


_LAST_PART: Final = (1 << 48) - 1


# Jobs and events of one commit have the same timestamp.
@lru_cache(maxsize=256)
def _moment_text(now: int) -> str:
    text = f"{now & 0xFFFF_FFFF_FFFF:012x}"
    return f"{text[:8]}-{text[8:]}-7"


def _rest_of_uuid7(bits: int) -> str:
    """Return the part after the time and the version: 74 bits, with the variant among them."""
    return f"{bits >> 62:03x}-{bits >> 48 & 0x3FFF | 0x8000:04x}-{bits & 0xFFFF_FFFF_FFFF:012x}"


def position_uuid(moment: int, position: int) -> str:
    """Return a UUIDv7 that carries a 64-bit position, which can be read back from it."""
    return _moment_text(moment) + _rest_of_uuid7(position)


def position_of(uuid: str) -> int:
    """The position that `position_uuid` put into an id."""
    number = int(uuid.replace("-", ""), 16)
    return (number >> 64 & 0xFFF) << 62 | number & 0x3FFF_FFFF_FFFF_FFFF


@lru_cache(maxsize=256)
def _second_text(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")


# Jobs of one commit have the same timestamps.
@lru_cache(maxsize=256)
def format_timestamp(moment: int) -> str:
    """Return a time as RFC 3339 in UTC; the fraction has three digits, or is left out if zero."""
    second, fraction = divmod(moment, 1000)
    return f"{_second_text(second)}.{fraction:03d}Z" if fraction else f"{_second_text(second)}Z"


def timestamp(moment: int | None) -> str | None:
    """Return a time that may be missing in the same form."""
    return None if moment is None else format_timestamp(moment)


def parse_timestamp(text: str) -> int:
    """Read RFC 3339 with a zone; digits beyond milliseconds are cut off."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError("must be an RFC 3339 timestamp with a zone, like 2030-01-31T09:00:00Z")
    day, clock, fraction, zone = match.groups()
    try:
        parsed = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if zone in 'Zz' else zone}")
        seconds = int(parsed.timestamp())
    except (ValueError, OverflowError) as error:
        raise ValueError(f"is not a valid time: {error}") from None
    moment = seconds * 1000 + int((fraction or "0")[:3].ljust(3, "0"))
    if not 0 <= moment <= MAX_TIME:
        raise ValueError("must lie between 1970 and 9999")
    return moment


def parse_duration(value: object, bare_unit: int | None = None) -> int:
    """Read `PT1M30S`, `90s`, `500ms`, or (where `bare_unit` gives its milliseconds) a number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"must be a duration such as PT30S or 30s, not {kind_of(value)}")
    if isinstance(value, int | float):
        if bare_unit is None:
            raise ValueError("must be a duration with its unit, such as PT30S or 30s")
        milliseconds = value * bare_unit
    elif match := _ISO_DURATION.fullmatch(value):
        milliseconds = sum(
            float(part) * unit
            for part, unit in zip(match.groups(), _ISO_UNITS, strict=True)
            if part
        )
    elif match := _SHORT_DURATION.fullmatch(value):
        milliseconds = float(match[1]) * _SHORT_UNITS[match[2]]
    else:
        raise ValueError("must be a duration such as PT30S, P1D, 30s or 500ms")
    if not 0 <= milliseconds <= MAX_DURATION:
        raise ValueError("must be between zero and a hundred years")
    return round(milliseconds)


def parse_moment(value: object, now: int) -> int:
    """Read a timestamp, or `+` and a duration counted from `now`."""
    if not isinstance(value, str):
        raise ValueError(
            f"must be a timestamp or a relative time such as +PT5S, not {kind_of(value)}"
        )
    if value.startswith("+"):
        return min(now + parse_duration(value[1:]), MAX_TIME)
    if value.startswith(("-P", "P")):
        raise ValueError("must be a timestamp, or count from now with a plus, such as +PT5S")
    return parse_timestamp(value)


def format_duration(milliseconds: int) -> str:
    """Return the normalised ISO 8601 form, in seconds below a day: `PT90S`, `P7D`."""
    if milliseconds and milliseconds % 86_400_000 == 0:
        return f"P{milliseconds // 86_400_000}D"
    seconds, fraction = divmod(milliseconds, 1000)
    return f"PT{seconds}.{fraction:03d}".rstrip("0") + "S" if fraction else f"PT{seconds}S"


def in_seconds(milliseconds: int) -> int | float:
    """Return a duration in seconds, as an integer if it is whole, since typed clients want
    integers."""
    return milliseconds / 1000 if milliseconds % 1000 else milliseconds // 1000


def kind_of(value: object) -> str:
    """Return the JSON name of a decoded value's type, for error messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"
