"""Compression: which arguments are compressed, and bytes that cannot be decompressed."""

import random

import pytest

from ojs_worker.compression import SHORT, Compression, compressed, from_gzip, from_zstd

UNDO = {"zstd": from_zstd, "gzip": from_gzip}
either = pytest.mark.parametrize("how", ["zstd", "gzip"])


@either
def test_the_same_bytes_become_the_same_and_come_back(how: Compression) -> None:
    plain = b"ab" * SHORT
    made = compressed(plain, how)
    assert made is not None
    assert made == compressed(plain, how)
    packed, name = made
    assert name == f"{how}/plain"
    assert len(packed) < len(plain)
    assert UNDO[how](packed) == plain


@either
def test_what_does_not_become_smaller_is_left(how: Compression) -> None:
    assert compressed(b"a" * SHORT, how) is None
    assert compressed(random.Random(1).randbytes(2 * SHORT), how) is None


@either
@pytest.mark.parametrize("damage", ["cut", "followed", "twice", "other", "empty"])
def test_damaged_bytes_are_refused(how: Compression, damage: str) -> None:
    made = compressed(b"ab" * SHORT, how)
    assert made is not None
    packed = made[0]
    given = {
        "cut": packed[:-1],
        "followed": packed + b"x",
        "twice": packed + packed,
        "other": b"no such form",
        "empty": b"",
    }[damage]
    with pytest.raises(ValueError, match=f"cut short|are no {how}"):
        UNDO[how](given)
