"""Attempts that failed: how many are allowed, and how much is remembered of them."""

from ojs_server.domain.access.failed_attempts import ADDRESSES, MOST, PER_MS, Attempts, network_of


def failed(attempts: Attempts, address: str, times: int, now: int = 0) -> None:
    for _ in range(times):
        attempts.fail(address, now)


def test_an_address_waits_after_too_many() -> None:
    attempts = Attempts()
    failed(attempts, "192.0.2.1", MOST - 1)
    assert attempts.wait_ms("192.0.2.1", 5) == 0
    attempts.fail("192.0.2.1", 5)
    assert attempts.wait_ms("192.0.2.1", 10) == PER_MS - 10
    assert attempts.wait_ms("192.0.2.2", 10) == 0


def test_after_a_while_it_may_try_again() -> None:
    attempts = Attempts()
    failed(attempts, "192.0.2.1", MOST)
    assert attempts.wait_ms("192.0.2.1", PER_MS - 1) == 1
    assert attempts.wait_ms("192.0.2.1", PER_MS) == 0
    failed(attempts, "192.0.2.1", MOST, PER_MS)
    assert attempts.wait_ms("192.0.2.1", PER_MS) == PER_MS


def test_a_clock_that_was_set_back_shuts_nobody_out() -> None:
    attempts = Attempts()
    failed(attempts, "192.0.2.1", MOST, 10 * PER_MS)
    assert attempts.wait_ms("192.0.2.1", 0) == 0


def test_what_is_remembered_is_bounded() -> None:
    attempts = Attempts()
    failed(attempts, "first", MOST)
    for number in range(ADDRESSES - 1):
        attempts.fail(f"address {number}", 0)
    assert attempts.wait_ms("first", 0) > 0
    attempts.fail("one more", 0)
    assert attempts.wait_ms("first", 0) == 0


def test_the_addresses_of_one_host_count_together() -> None:
    assert network_of("2001:db8:1:2::1") == network_of("2001:db8:1:2:ffff::9")
    assert network_of("2001:db8:1:2::1") != network_of("2001:db8:1:3::1")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1") == "192.0.2.1"
    assert network_of("") == ""
