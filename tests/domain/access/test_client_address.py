"""The address of a client behind proxies, and what a client can make of it."""

from ipaddress import ip_network

import pytest

from ojs_server.domain.access.client_address import client_address, parse_network

TRUSTED = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]
PROXY, CLIENT = "10.0.0.1", "203.0.113.7"


def found(*, usual: tuple[str, ...] = (), standard: tuple[str, ...] = (), peer: str = PROXY) -> str:
    """The address of a client with these headers."""
    return client_address(peer, standard, usual, TRUSTED)


def test_a_client_that_is_no_proxy_names_nobody() -> None:
    for peer in (CLIENT, "2001:db8::1", "192.0.2.1"):
        assert found(peer=peer, usual=("10.9.9.9",), standard=("for=1.2.3.4",)) == peer
    assert client_address(PROXY, ("for=1.2.3.4",), ("1.2.3.4",), []) == PROXY
    assert found(peer="") == ""


@pytest.mark.parametrize(
    ("line", "address"),
    [
        (CLIENT, CLIENT),
        (f"{CLIENT}:4711", CLIENT),
        ("2001:db8::9", "2001:db8::9"),
        ("[2001:db8::9]", "2001:db8::9"),
        ("[2001:DB8::9]:4711", "2001:db8::9"),
        (f"::ffff:{CLIENT}", CLIENT),
        # Entries that the client itself has sent are further left.
        (f"1.2.3.4, {CLIENT}", CLIENT),
        (f"garbage, , {CLIENT}", CLIENT),
        (f"1.2.3.4, {CLIENT}, 10.0.0.3,  fd00::4 ", CLIENT),
        ("10.0.0.9, 10.0.0.3", "10.0.0.9"),
        # The last proxy that is known stands for what it does not say.
        ("1.2.3.4, garbage, 10.0.0.3", "10.0.0.3"),
        *((line, PROXY) for line in ("", "unknown", "1.2.3", "256.1.1.1", "1.2.3.4:x", "::1%eth0")),
    ],
)
def test_the_nearest_untrusted_hop_is_the_client(line: str, address: str) -> None:
    assert found(usual=(line,)) == address


@pytest.mark.parametrize(
    ("line", "address"),
    [
        (f"for={CLIENT}", CLIENT),
        (f'For="{CLIENT}:4711";proto=https ; by=_proxy', CLIENT),
        ('for="[2001:db8::9]"', "2001:db8::9"),
        ('proto=https;for="[2001:db8::9]:_port"', PROXY),
        ('by=x;for="[2001:db8::9]:4711"', "2001:db8::9"),
        (f'for=1.2.3.4;x="a, b;c", for={CLIENT}, for="10.0.0.3"', CLIENT),
        (f'for="{CLIENT[:-1]}\\{CLIENT[-1]}"', CLIENT),
        *((f"for=1.2.3.4, {text}", PROXY) for text in ("for=_hidden", "for=unknown", "proto=http")),
        # A quotation that the client leaves open swallows nothing.
        ('for=1.2.3.4;x=", for="[2001:db8::9]"', PROXY),
        ('for="1.2.3.4, for=203.0.113.7', PROXY),
        ("for=", PROXY),
        ("1.2.3.4", PROXY),
    ],
)
def test_the_standard_header_is_read_alike(line: str, address: str) -> None:
    assert found(standard=("for=9.9.9.9", line)) == address


def test_a_header_may_have_several_lines_and_the_peer_two_spellings() -> None:
    assert found(usual=("9.9.9.9", CLIENT, "10.0.0.3"), peer=f"::ffff:{PROXY}") == CLIENT


def test_headers_that_disagree_name_nobody() -> None:
    assert found(usual=(CLIENT,), standard=(f"for={CLIENT}",)) == CLIENT
    assert found(usual=(CLIENT,), standard=("for=1.2.3.4",)) == PROXY


def test_a_long_header_is_read_from_its_end() -> None:
    assert found(usual=("10.0.0.2," * 10_000 + CLIENT,)) == CLIENT
    assert found(usual=(f"{CLIENT}," + ",".join(["10.0.0.2"] * 10_000),)) == "10.0.0.2"


def test_a_network_of_everybody_is_no_proxy() -> None:
    assert parse_network(" 10.0.0.0/8 ") == TRUSTED[0]
    for text in ("0.0.0.0/0", "::/0", "proxy.example", "10.0.0.1/8"):
        with pytest.raises(ValueError, match=r"host bits set|every address|not appear"):
            parse_network(text)
