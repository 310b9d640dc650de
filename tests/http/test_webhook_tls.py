"""Webhooks over TLS: the connection goes to a checked address, the certificate is the name's."""

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ojs_server.domain.delivery import Reply
from ojs_server.domain.target import Reach
from ojs_server.outbound import Outbound
from tests.http.target import Target, listening

HOST = "hooks.example"
Key = ec.EllipticCurvePrivateKey


class Authority:
    """Certificates that nobody else trusts, in a folder of the test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("test authority")
        self.file = folder / "ca.pem"
        basic = x509.BasicConstraints(ca=True, path_length=0)
        self.file.write_bytes(self._signed(self._name, self._key, [(basic, True)]))

    def of(self, host: str) -> ssl.SSLContext:
        """What a server with a certificate for a name needs."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        chain = self._folder / f"{host}.pem"
        chain.write_bytes(
            self._signed(_name(host), key, [(names, False)])
            + key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(chain)
        return context

    def _signed(
        self, name: x509.Name, key: Key, extensions: Sequence[tuple[x509.ExtensionType, bool]]
    ) -> bytes:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def posted(target: Target, ca: Path | None) -> Reply:
    """What comes of a call to the name, which leads to the target's address."""

    async def resolve(name: str, port: int) -> list[str]:
        assert name == HOST
        return ["127.0.0.1"]

    way = Outbound(Reach(private=True), 10_000, resolve, ca=str(ca) if ca else None)
    try:
        return await way.post(target.url(HOST), {}, b"{}")
    finally:
        await way.close()


async def test_the_certificate_is_checked_against_the_name(authority: Authority) -> None:
    async with listening(authority.of(HOST)) as target:
        assert (await posted(target, authority.file)).answer == 200
        assert target.posted[0].headers["host"] == f"{HOST}:{target.port}"
    for other in ("other.example", "127.0.0.1.example"):
        async with listening(authority.of(other)) as target:
            reply = await posted(target, authority.file)
            assert (reply.answer, reply.error) == (None, "the call failed (ConnectError)")
            assert target.posted == []


async def test_an_authority_that_nobody_named_is_not_trusted(authority: Authority) -> None:
    async with listening(authority.of(HOST)) as target:
        reply = await posted(target, None)
        assert (reply.answer, reply.error) == (None, "the call failed (ConnectError)")
        assert target.posted == []
