"""A certificate authority of a test's own."""

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey
Extensions = Sequence[tuple[x509.ExtensionType, bool]]


class Authority:
    """A certificate authority for one test, with its files in the test's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("test authority")
        self.file = folder / "ca.pem"
        basic = x509.BasicConstraints(ca=True, path_length=0)
        self.file.write_bytes(self._signed(self._name, self._key, [(basic, True), (_SIGNS, True)]))

    def certificate(self, host: str) -> Path:
        """A certificate for a name or address, with its key behind it."""
        key = ec.generate_private_key(ec.SECP256R1())
        file = self._folder / f"{host}.pem"
        names = x509.SubjectAlternativeName([_general(host)])
        file.write_bytes(
            self._signed(_name(host), key, [(names, False)])
            + key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return file

    def server(self, host: str, *, asks: bool = False) -> ssl.SSLContext:
        """Return a TLS context for a server of that name, which may ask for client certificates."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.certificate(host))
        if asks:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.file)
        return context

    def _signed(self, name: x509.Name, key: Key, extensions: Extensions) -> bytes:
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
        # Newer Pythons refuse certificates that do not name their keys.
        named = (
            (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
            (x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), False),
        )
        for extension, critical in (*extensions, *named):
            builder = builder.add_extension(extension, critical)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


_SIGNS = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
