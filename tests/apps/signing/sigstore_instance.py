"""A small Sigstore on this machine: an authority, a log of its certificates, a log of entries.

It speaks what Fulcio (`/api/v2/signingCert`) and Rekor 1 (`/api/v1/log/entries`) speak, with keys made for
the test, so that the library's own client signs and verifies by it. It checks no identity tokens: whoever
holds the name in one gets a certificate for it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as forms
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from tests.servers import LocalServer, Request, Response

ISSUER_OID = ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
SCT_OID = ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
ORIGIN = "log.test - 1"


def _der(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(forms.Encoding.DER, forms.PublicFormat.SubjectPublicKeyInfo)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _claims(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


def identity_token(name: str, issuer: str) -> str:
    """An identity token as a login server would sign one; the clients here check no signature."""
    now = int(datetime.now(UTC).timestamp())
    claims = {"iss": issuer, "sub": name, "email": name, "aud": "sigstore", "iat": now, "exp": now + 300}
    parts = ({"alg": "none", "typ": "JWT"}, claims)
    coded = [base64.urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=") for one in parts]
    return ".".join([*coded, ""])


class SigstoreInstance:
    """The services with their keys; `url` once it is entered."""

    def __init__(self) -> None:
        self.authority, self.certificates, self.log = (
            ec.generate_private_key(ec.SECP256R1()) for _ in range(3)
        )
        self.began = datetime.now(UTC) - timedelta(days=1)
        name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "tests")])
        self.root = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self.authority.public_key())
            .serial_number(1)
            .not_valid_before(self.began)
            .not_valid_after(self.began + timedelta(days=10))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(certificates=True), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(self.authority.public_key()), critical=False
            )
            .sign(self.authority, hashes.SHA256())
        )
        self.bodies: list[bytes] = []
        self.server = LocalServer(self.answer)

    def __enter__(self) -> SigstoreInstance:
        self.server.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        self.server.__exit__(*details)

    def answer(self, request: Request) -> Response:
        """What Fulcio or Rekor would say."""
        if request.path == "/api/v2/signingCert":
            return Response.json(self._certificate(request))
        if request.path == "/api/v1/log/entries":
            return Response.json(self._entry(request.json()))
        return Response.json({"message": "no such place"}, status=404)

    def _certificate(self, request: Request) -> dict[str, Any]:
        claims = _claims(request.headers["authorization"].removeprefix("Bearer "))
        asked = base64.b64decode(request.json()["certificateSigningRequest"])
        public = x509.load_pem_x509_csr(asked).public_key()
        now = datetime.now(UTC)
        issuer = claims["iss"].encode()
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(self.root.subject)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(seconds=5))
            .not_valid_after(now + timedelta(minutes=10))
            .add_extension(_usage(certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.authority.public_key()),
                critical=False,
            )
            .add_extension(x509.SubjectAlternativeName([x509.RFC822Name(claims["email"])]), critical=True)
            .add_extension(x509.UnrecognizedExtension(ISSUER_OID, issuer), critical=False)
        )
        bare = builder.sign(self.authority, hashes.SHA256()).tbs_certificate_bytes
        listed = x509.UnrecognizedExtension(SCT_OID, self._logged(bare, now))
        whole = builder.add_extension(listed, critical=False).sign(self.authority, hashes.SHA256())
        chain = [one.public_bytes(forms.Encoding.PEM).decode() for one in (whole, self.root)]
        return {"signedCertificateEmbeddedSct": {"chain": {"certificates": chain}}}

    def _logged(self, certificate: bytes, now: datetime) -> bytes:
        """A list with one signed timestamp of a certificate (RFC 6962, 3.2 and 3.3), in DER."""
        at = struct.pack("!Q", int(now.timestamp() * 1000))
        issuer = hashlib.sha256(_der(self.authority)).digest()
        entry = struct.pack("!H", 1) + issuer + len(certificate).to_bytes(3, "big") + certificate
        signature = self.certificates.sign(b"\0\0" + at + entry + b"\0\0", ec.ECDSA(hashes.SHA256()))
        log = hashlib.sha256(_der(self.certificates)).digest()
        stamp = b"\0" + log + at + b"\0\0" + b"\x04\x03" + struct.pack("!H", len(signature)) + signature
        listed = struct.pack("!H", len(stamp)) + stamp
        listed = struct.pack("!H", len(listed)) + listed
        return bytes([0x04, len(listed)]) + listed  # shorter than 128 bytes, or the length has another form

    def _entry(self, proposed: Any) -> dict[str, Any]:
        envelope = json.loads(proposed["spec"]["proposedContent"]["envelope"])
        payload = base64.b64decode(envelope["payload"])
        whole = proposed["spec"]["proposedContent"]["envelope"].encode()
        body = {
            "apiVersion": "0.0.1",
            "kind": "dsse",
            "spec": {
                "envelopeHash": {"algorithm": "sha256", "value": hashlib.sha256(whole).hexdigest()},
                "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()},
                "signatures": [
                    {
                        "signature": envelope["signatures"][0]["sig"],
                        "verifier": proposed["spec"]["proposedContent"]["verifiers"][0],
                    }
                ],
            },
        }
        coded = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
        self.bodies.append(coded)
        index, root, path = _inclusion(self.bodies)
        log = hashlib.sha256(_der(self.log)).digest()
        note = f"{ORIGIN}\n{len(self.bodies)}\n{_text(root)}\n"
        sealed = log[:4] + self.log.sign(note.encode(), ec.ECDSA(hashes.SHA256()))
        entry = {
            "body": _text(coded),
            "integratedTime": int(datetime.now(UTC).timestamp()),
            "logID": log.hex(),
            "logIndex": index,
        }
        promised = json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()
        proof = {
            "checkpoint": f"{note}\n— {ORIGIN.split()[0]} {_text(sealed)}\n",
            "hashes": [one.hex() for one in path],
            "logIndex": index,
            "rootHash": root.hex(),
            "treeSize": len(self.bodies),
        }
        promise = _text(self.log.sign(promised, ec.ECDSA(hashes.SHA256())))
        verification = {"inclusionProof": proof, "signedEntryTimestamp": promise}
        return {hashlib.sha256(coded).hexdigest(): {**entry, "verification": verification}}

    def trusted_root(self) -> dict[str, Any]:
        """Whom those who verify trust: the certificate and both logs."""
        span = {"start": self.began.strftime("%Y-%m-%dT%H:%M:%SZ")}

        def log(key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
            public = {"rawBytes": _text(_der(key)), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": span}
            known = {"keyId": _text(hashlib.sha256(_der(key)).digest())}
            return {
                "baseUrl": self.server.url,
                "hashAlgorithm": "SHA2_256",
                "publicKey": public,
                "logId": known,
            }

        chain = {"certificates": [{"rawBytes": _text(self.root.public_bytes(forms.Encoding.DER))}]}
        authority = {
            "subject": {"organization": "tests", "commonName": "tests"},
            "uri": self.server.url,
            "certChain": chain,
            "validFor": span,
        }
        return {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(self.log)],
            "certificateAuthorities": [authority],
            "ctlogs": [log(self.certificates)],
            "timestampAuthorities": [],
        }

    def trust_config(self) -> dict[str, Any]:
        """The same, and where the services are."""
        span = {"start": self.began.strftime("%Y-%m-%dT%H:%M:%SZ")}
        service = {"url": self.server.url, "majorApiVersion": 1, "validFor": span, "operator": "tests"}
        return {
            "mediaType": "application/vnd.dev.sigstore.clienttrustconfig.v0.1+json",
            "trustedRoot": self.trusted_root(),
            "signingConfig": {
                "mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json",
                "caUrls": [service],
                "oidcUrls": [],
                "rekorTlogUrls": [service],
                "tsaUrls": [],
                "rekorTlogConfig": {"selector": "ANY"},
                "tsaConfig": {"selector": "ANY"},
            },
        }

    def write(self, folder: Path) -> tuple[Path, Path]:
        """The files that those who sign and those who verify name."""
        files = folder / "trust-config.json", folder / "trusted-root.json"
        for file, content in zip(files, (self.trust_config(), self.trusted_root()), strict=True):
            file.write_text(json.dumps(content), "utf-8")
        return files


def _usage(*, certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=certificates,
        crl_sign=certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _inclusion(bodies: list[bytes]) -> tuple[int, bytes, list[bytes]]:
    """Place, root and path of the last of these leaves (RFC 6962, 2.1)."""
    leaves = [hashlib.sha256(b"\0" + body).digest() for body in bodies]

    def root(nodes: list[bytes]) -> bytes:
        if len(nodes) == 1:
            return nodes[0]
        half = 1 << ((len(nodes) - 1).bit_length() - 1)
        return hashlib.sha256(b"\1" + root(nodes[:half]) + root(nodes[half:])).digest()

    def path(nodes: list[bytes]) -> list[bytes]:
        if len(nodes) == 1:
            return []
        half = 1 << ((len(nodes) - 1).bit_length() - 1)
        return [*path(nodes[half:]), root(nodes[:half])]

    return len(leaves) - 1, root(leaves), path(leaves)
