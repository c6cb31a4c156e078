"""Signed statements: in-toto Statement v1 in a DSSE v1 envelope, with one Ed25519 signature.

Writing is canonical and reading strict: an envelope that was not written exactly so is refused, so that there
are no two forms of one signature.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trustgauge.errors import VerifyError
from trustgauge.records import canonical
from trustgauge.reports.document_model import misfit
from trustgauge.run.signing_keys import is_signed, key_id

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PAYLOAD = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:trustgauge:signed-rating:1"
ENVELOPE = "rating.dsse.json"
"""The signature's file beside `rating.json`."""


def predicate(document: Mapping[str, Any], signed: str) -> dict[str, Any]:
    """What a signature says of a run beside the hash of its `rating.json`.

    Args:
        document: the `rating.json`.
        signed: when it is signed, ISO 8601.
    """
    run = document["run"]
    return {
        "run": run["id"],
        "signed": signed,
        "expires": run["expires"],
        "plan": run["hashes"].get("plan", ""),
        "lock": run.get("lock"),
        "answers": run.get("tree"),
        "assessor": run["assessor"],
        "ratings": [
            {
                "id": one["id"],
                "service": one["service"]["name"],
                "method": one["method"]["name"],
                "state": one["state"],
                "level": one["overall"]["level"],
            }
            for one in document["ratings"]
        ],
    }


def statement(rating: bytes, document: Mapping[str, Any], signed: str) -> bytes:
    """What is signed of a `rating.json`, in canonical form; arguments as those of `seal`."""
    return canonical(
        {
            "_type": STATEMENT,
            "subject": [{"name": "rating.json", "digest": {"sha256": hashlib.sha256(rating).hexdigest()}}],
            "predicateType": PREDICATE,
            "predicate": predicate(document, signed),
        }
    ).encode()


def seal(rating: bytes, document: Mapping[str, Any], key: Ed25519PrivateKey, signed: str) -> dict[str, Any]:
    """The envelope around the statement about a `rating.json`.

    Args:
        rating: its bytes.
        document: the same, read.
        key: signs.
        signed: when, ISO 8601.
    """
    payload = statement(rating, document, signed)
    public = key.public_key().public_bytes_raw()
    signature = {"keyid": key_id(public), "sig": _base64(key.sign(signed_bytes(payload)))}
    return {"payload": _base64(payload), "payloadType": PAYLOAD, "signatures": [signature]}


def open_envelope(envelope: Any, public: bytes, rating: bytes, document: Mapping[str, Any]) -> dict[str, Any]:
    """The predicate of an envelope, if it is signed by this key and about this `rating.json`.

    Raises:
        VerifyError: it is not; which of the two, and what does not fit.
        MissingPartError: the extra `sign` is not installed.
    """
    keys(envelope, ("payload", "payloadType", "signatures"), "the envelope")
    signatures = envelope["signatures"]
    if not isinstance(signatures, list) or len(signatures) != 1:
        raise VerifyError("the envelope has another number of signatures", must="one")
    keys(signatures[0], ("keyid", "sig"), "the signature")
    payload = plain_bytes(envelope["payload"], "the payload")
    if envelope["payloadType"] != PAYLOAD:
        raise VerifyError("the payload is of another type", must=PAYLOAD)
    if signatures[0]["keyid"] != key_id(public):
        raise VerifyError("it is signed by another key", must=key_id(public), got=str(signatures[0]["keyid"]))
    if not is_signed(public, plain_bytes(signatures[0]["sig"], "the signature"), signed_bytes(payload)):
        raise VerifyError("the signature does not fit what is signed, or is not by this key")
    return check_statement(payload, rating, document)


def check_statement(payload: bytes, rating: bytes, document: Mapping[str, Any]) -> dict[str, Any]:
    """The predicate of a signed statement, if it is about this `rating.json`.

    Raises:
        VerifyError: it is not, or says something else.
    """
    found = read_canonical(payload, "the signed statement")
    keys(found, ("_type", "subject", "predicateType", "predicate"), "the signed statement")
    said = found["predicate"]
    signed = said.get("signed") if isinstance(said, dict) else None
    subject = [{"name": "rating.json", "digest": {"sha256": hashlib.sha256(rating).hexdigest()}}]
    if (found["_type"], found["predicateType"]) != (STATEMENT, PREDICATE):
        raise VerifyError("the signed statement is of another kind", must=PREDICATE)
    if found["subject"] != subject:
        raise VerifyError("this rating.json is not the one that was signed: its hash is another")
    if where := misfit(document):
        raise VerifyError("the signed rating has not the form of its schema", got=where)
    if not isinstance(signed, str) or said != predicate(document, signed):
        raise VerifyError("the signed statement says something else than the rating.json that it names")
    return dict(said)


def signed_bytes(payload: bytes) -> bytes:
    """What is signed: type and payload with their lengths (DSSE v1, pre-authentication encoding)."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD), PAYLOAD.encode(), len(payload), payload)


def read_canonical(data: bytes, name: str) -> Any:
    """The JSON in these bytes. Raises VerifyError unless they are its canonical form."""
    try:
        found = json.loads(data)
        same = canonical(found).encode() == data
    except (ValueError, RecursionError):
        raise VerifyError(f"{name} is not JSON") from None
    if not same:
        raise VerifyError(f"{name} was changed after it was written: it is not in canonical form")
    return found


def keys(found: Any, names: tuple[str, ...], name: str) -> None:
    """Raises VerifyError unless an object has exactly these keys."""
    if not isinstance(found, dict) or sorted(found) != sorted(names):
        raise VerifyError(f"{name} has not the form that it must have", must=f"the keys {', '.join(names)}")


def plain_bytes(text: Any, name: str) -> bytes:
    """What a text of Base64 holds. Raises VerifyError unless it is its one standard form."""
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        data = None
    if data is None or _base64(data) != text:
        raise VerifyError(f"{name} is no Base64 in its standard form")
    return data


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
