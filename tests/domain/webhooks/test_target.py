"""Targets of webhooks: accepted URLs, and public addresses."""

import pytest

from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.webhooks.target import MAX_URL, Reach, Target, is_public, parse_url

CLOSED = Reach()
OPEN = Reach(private=True, plain=True)


def test_the_longest_url_is_taken() -> None:
    assert parse_url("https://example.com/".ljust(MAX_URL, "a"), OPEN).host == "example.com"


def test_a_url_is_taken_apart() -> None:
    assert parse_url("https://example.com", CLOSED) == Target("https", "example.com", 443, "/")
    found = parse_url("https://example.com:8443/a/b?c=d&e", CLOSED)
    assert found == Target("https", "example.com", 8443, "/a/b?c=d&e")
    assert found.authority == "example.com:8443"
    assert parse_url("http://[::1]:80/", OPEN).authority == "[::1]"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://example.com/".ljust(MAX_URL + 1, "a"),
        "example.com",
        "ftp://example.com/",
        "https://",
        "https:///path",
        "https://a b/",
        "https://user:word@example.com/",
        "https://user@example.com/",
        "https://example.com/#part",
        "https://example.com:99999/",
        "https://example.com:port/",
        "https://exa\u00adple.com/",
        "https://example.com/\r\nX-Evil: 1",
        "https://[::1/",
        "https://a\\b/",
    ],
)
def test_what_is_no_target_is_refused_whoever_asks(url: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_url(url, OPEN)
    assert refusal.value.details == {"field": "url"}


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/",
        "https://10.0.0.8:8080/x",
        "https://[::1]/",
        "https://169.254.169.254/",
        "https://localhost/",
        "https://LOCALHOST./",
        "https://db.localhost/",
        "https://0.0.0.0/",
        "https://[::ffff:127.0.0.1]/",
        "https://[fe80::1%25eth0]/",
        "https://[fec0::1]/",
        "https://[::ffff:192.88.99.1]/",
        "http://example.com/",
    ],
)
def test_what_is_not_public_or_not_encrypted_needs_the_operator(url: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_url(url, CLOSED)
    parse_url(url, OPEN)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "240.0.0.1",
        "192.0.2.1",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "ff02::1",
        "2001:db8::1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
        "fec0::1",
        "feff:ffff::1",
        "192.88.99.1",
        "192.0.0.8",
        "192.0.0.9",
        "192.0.0.255",
        "3fff::1",
        "3fff:fff:ffff::1",
        "64:ff9b:1::808:808",
        "::ffff:192.88.99.1",
        "::ffff:192.0.0.9",
        "::ffff:c000:9",
        "2002:c058:6301::1",
        "64:ff9b::192.0.0.9",
    ],
)
def test_private_addresses_are_seen_through_every_disguise(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "93.184.216.34",
        "192.0.1.0",
        "192.88.98.255",
        "192.88.100.0",
        "2606:4700::1111",
        "3ffe:ffff::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    ],
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)
