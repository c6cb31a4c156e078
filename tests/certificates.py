"""A private certificate authority, and servers with certificates that it signed."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class PrivateAuthority:
    """An authority that no system knows; `file` holds its certificate (PEM)."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "authority.pem"
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = _name("Private Authority")
        self.own = self._sign(self.key.public_key(), self.name, days=2, alt=None)
        self.file.write_bytes(self.own.public_bytes(Encoding.PEM))

    def context(self, host: str = "127.0.0.1", days: float = 2) -> ssl.SSLContext:
        """What a server speaks TLS with: a certificate for `host`, of so many days from yesterday on."""
        key = ec.generate_private_key(ec.SECP256R1())
        alt = x509.SubjectAlternativeName([_alternative(host)])
        made = self._sign(key.public_key(), _name("server"), days=days, alt=alt)
        return self._loaded(key, made)

    def own_context(self) -> ssl.SSLContext:
        """What a server speaks TLS with that shows the certificate of the authority itself."""
        return self._loaded(self.key, self.own)

    def _sign(
        self,
        key: ec.EllipticCurvePublicKey,
        name: x509.Name,
        *,
        days: float,
        alt: x509.SubjectAlternativeName | None,
    ) -> x509.Certificate:
        start = datetime.now(UTC) - timedelta(days=1)
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(self.name).public_key(key)
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(start).not_valid_after(start + timedelta(days=days))
        builder = builder.add_extension(
            x509.BasicConstraints(ca=alt is None, path_length=None), critical=True
        )
        if alt is not None:
            builder = builder.add_extension(alt, critical=False)
        return builder.sign(self.key, hashes.SHA256())

    def _loaded(self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> ssl.SSLContext:
        file = self.folder / "server.pem"
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(secret + certificate.public_bytes(Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


def _name(words: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, words)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
