"""Attempts that failed: how many are allowed, and how much is remembered of them."""

from ojs_server.domain.access.failed_attempts import (
    ADDRESSES,
    MOST,
    MOST_IN_ALL,
    PER_MS,
    Attempts,
    network_of,
)


def failed(attempts: Attempts, address: str, times: int, now: int = 0) -> int:
    """Fail so many times; answers how long the address must wait then."""
    return [attempts.fail(address, now) for _ in range(times)][-1]


def test_an_address_waits_after_too_many() -> None:
    attempts = Attempts()
    assert failed(attempts, "192.0.2.1", MOST) == 0
    assert attempts.fail("192.0.2.1", 10) == PER_MS - 10
    assert attempts.fail("192.0.2.2", 10) == 0


def test_after_a_while_it_may_try_again() -> None:
    attempts = Attempts()
    failed(attempts, "192.0.2.1", MOST)
    assert attempts.fail("192.0.2.1", PER_MS - 1) == 1
    assert failed(attempts, "192.0.2.1", MOST, PER_MS) == 0
    assert attempts.fail("192.0.2.1", PER_MS) == PER_MS


def test_many_addresses_wait_after_too_many_in_all() -> None:
    attempts = Attempts()
    waits = [attempts.fail(f"address {number}", 0) for number in range(MOST_IN_ALL + 1)]
    assert waits == [0] * MOST_IN_ALL + [PER_MS]
    assert attempts.fail("one more", PER_MS) == 0


def test_a_clock_that_was_set_back_shuts_nobody_out() -> None:
    attempts = Attempts()
    failed(attempts, "192.0.2.1", MOST, 10 * PER_MS)
    assert attempts.fail("192.0.2.1", 0) == 0


def test_what_is_remembered_is_bounded() -> None:
    attempts = Attempts()
    attempts.fail("oldest", 0)
    failed(attempts, "second", MOST, PER_MS // 2)
    for number in range(ADDRESSES - 1):
        attempts.fail(f"address {number}", PER_MS // 2)
    # A new minute has begun for all together, but not for this one.
    assert attempts.fail("second", PER_MS) == PER_MS // 2
    attempts.fail("one more", PER_MS)
    assert attempts.fail("second", PER_MS) == 0


def test_the_addresses_of_one_host_count_together() -> None:
    assert network_of("2001:db8:1:2::1") == network_of("2001:db8:1:2:ffff::9")
    assert network_of("2001:db8:1:2::1") != network_of("2001:db8:1:3::1")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1") == "192.0.2.1"
    assert network_of("") == ""
