"""Sigstore bundles: the statement of `envelope`, signed under a name that a login vouches for.

Who signs needs no key: a certificate authority gives a key of ten minutes a certificate for the name in an
identity token, and a public log keeps certificate and signature for good. Checking sends nothing: what the
bundle holds is checked against a file of trusted roots, or against those that the library keeps.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trustgauge.errors import KeyMissingError, MissingPartError, StoreError, UnavailableError, VerifyError
from trustgauge.run.envelope import PAYLOAD, check_statement

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from sigstore.models import ClientTrustConfig
    from sigstore.oidc import IdentityToken
    from sigstore.verify import Verifier

BUNDLE = "rating.sigstore.json"
"""The bundle's file beside `rating.json`."""
TOKEN = "SIGSTORE_IDENTITY_TOKEN"
"""Environment variable with an identity token, as Sigstore's own clients name it."""
LARGEST = 1_000_000  # bytes of a bundle; those of a rating have some ten thousand
_ISSUER = "1.3.6.1.4.1.57264.1.1"


@dataclass(frozen=True, slots=True)
class SigstoreCheck:
    """Under which name a rating was signed, who vouches for the name, and whether it is the expected one."""

    identity: str
    issuer: str
    signed: str
    is_known: bool


def sign_statement(statement: bytes, config: Path | None) -> str:
    """The bundle around a statement. Sends its hash, its signature and the identity to Sigstore.

    Args:
        statement: of `envelope.statement`.
        config: a client trust configuration, as Sigstore writes it; without one the public instance.

    Raises:
        MissingPartError: the extra `sigstore` is not installed.
        KeyMissingError: there is no identity token, and nobody to log in.
        UnavailableError: Sigstore cannot be reached, or refuses.
        StoreError: the configuration cannot be read.
    """
    _require()
    import requests
    from sigstore.dsse import Statement
    from sigstore.errors import Error
    from sigstore.oidc import ExpiredIdentity
    from sigstore.sign import SigningContext

    broken: tuple[type[Exception], ...] = (Error, ExpiredIdentity, requests.RequestException)
    try:
        trust = _trust(config)
        with SigningContext.from_trust_config(trust).signer(_token(trust)) as signer:
            return signer.sign_dsse(Statement(statement)).to_json()
    except broken + _internal_errors() as error:
        do = "Try again later, or with another token; `trustgauge sign --key FILE` needs no server"
        raise UnavailableError(f"Sigstore did not sign: {_said(error)}", do=do) from None


def check_bundle(
    file: Path,
    rating: bytes,
    document: Any,
    *,
    identity: str = "",
    issuer: str = "",
    root: Path | None = None,
) -> SigstoreCheck:
    """Who signed this `rating.json`, by a bundle. Sends nothing.

    Args:
        file: the bundle.
        rating: the bytes of the `rating.json`.
        document: the same, read.
        identity: the name that must have signed; without one any name will do, and is shown.
        issuer: who must vouch for the name.
        root: file of trusted roots; without one those that the library keeps.

    Raises:
        VerifyError: it is not signed so.
        MissingPartError: the extra `sigstore` is not installed.
        StoreError: the roots cannot be read.
    """
    _require()
    from sigstore.errors import Error
    from sigstore.models import Bundle
    from sigstore.verify.policy import Identity

    verifier = _verifier(root)
    try:
        data = file.read_bytes()[: LARGEST + 1]
    except OSError as error:
        raise StoreError(f"{file} cannot be read", got=error.strerror or str(error)) from None
    try:
        if len(data) > LARGEST:
            raise VerifyError("the bundle is too large", must=f"at most {LARGEST:,} bytes")
        bundle = Bundle.from_json(data)
        name, vouching = _named(bundle.signing_certificate)
        policy = Identity(identity=identity or name, issuer=issuer or None)
        kind, payload = verifier.verify_dsse(bundle, policy)
    except VerifyError:
        raise
    except (Error, ValueError, TypeError, LookupError, RecursionError) as error:
        raise VerifyError(f"the Sigstore bundle does not hold: {_said(error)}") from None
    if kind != PAYLOAD:
        raise VerifyError("the payload of the Sigstore bundle is of another type", must=PAYLOAD)
    said = check_statement(payload, rating, document)
    return SigstoreCheck(name, vouching, said["signed"], bool(identity))


def _require() -> None:
    try:
        import sigstore  # noqa: F401  only whether it is here
    except ModuleNotFoundError:
        do = 'Install it with `pip install "trustgauge[sigstore]"`'
        raise MissingPartError("Sigstore signatures need the package sigstore", do=do) from None


def _internal_errors() -> tuple[type[Exception], ...]:
    """What the clients of the services raise; the library does not derive all of it from its own `Error`."""
    from sigstore._internal.fulcio.client import FulcioClientError
    from sigstore._internal.rekor import RekorClientError

    return FulcioClientError, RekorClientError


def _trust(config: Path | None) -> ClientTrustConfig:
    from sigstore.models import ClientTrustConfig

    if config is None:
        return ClientTrustConfig.production()
    try:
        return ClientTrustConfig.from_json(config.read_text("utf-8"))
    except (OSError, ValueError) as error:
        must = "a client trust configuration of Sigstore, JSON"
        raise StoreError(f"{config} cannot be read", must=must, got=_said(error)) from None


def _token(trust: ClientTrustConfig) -> IdentityToken:
    """A token of the environment, of the build that this runs in, or of a login in the browser."""
    from sigstore.oidc import IdentityError, IdentityToken, Issuer, detect_credential

    try:
        if raw := os.environ.get(TOKEN) or detect_credential():
            return IdentityToken(raw)
    except IdentityError as error:
        do = f"Give a token for the audience sigstore in {TOKEN}"
        raise KeyMissingError(f"the identity token cannot be used: {_said(error)}", do=do) from None
    if not sys.stdin.isatty():
        do = f"Set {TOKEN}, let the build have one (id-token: write), or sign at a terminal"
        raise KeyMissingError("there is no identity token", do=do)
    return Issuer(trust.signing_config.get_oidc_url()).identity_token()


def _verifier(root: Path | None) -> Verifier:
    from sigstore.errors import Error
    from sigstore.models import TrustedRoot
    from sigstore.verify import Verifier

    try:
        if root is None:
            return Verifier.production(offline=True)
        return Verifier(trusted_root=TrustedRoot.from_file(str(root)))
    except (Error, OSError, ValueError) as error:
        where = f"{root}" if root else "what the library keeps of Sigstore's roots"
        do = "Name a file of trusted roots by --trust-root"
        raise StoreError(f"{where} cannot be read", got=_said(error), do=do) from None


def _named(certificate: Certificate) -> tuple[str, str]:
    """The name in a certificate, and who vouches for it, "" if the certificate does not tell."""
    from cryptography import x509

    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    found = [
        *names.get_values_for_type(x509.RFC822Name),
        *names.get_values_for_type(x509.UniformResourceIdentifier),
    ]
    if len(found) != 1:
        raise VerifyError("the certificate in the Sigstore bundle names nobody, or several", must="one name")
    issuer = ""
    for extension in certificate.extensions:
        if extension.oid.dotted_string == _ISSUER and isinstance(extension.value, x509.UnrecognizedExtension):
            issuer = extension.value.value.decode("utf-8", "replace")
    return found[0], issuer


def _said(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200] or type(error).__name__
