"""A second reader of proof bundles, from the standards alone: RFC 8032, DSSE v1, in-toto v1, RFC 6962.

It shares no code with trustgauge and uses no library of cryptography.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
Point = tuple[int, int, int, int]
"""X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z."""


def add(p: Point, q: Point) -> Point:
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n: int, a: Point) -> Point:
    found = (0, 1, 1, 0)
    while n:
        found, a, n = (add(found, a) if n & 1 else found), add(a, a), n >> 1
    return found


def point(data: bytes) -> Point:
    whole = int.from_bytes(data, "little")
    sign, y = whole >> 255, whole & (2**255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    assert y < P
    assert x * x % P == square
    assert x or not sign
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def is_signed(public: bytes, signature: bytes, message: bytes) -> bool:
    first, second = signature[:32], int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(first + public + message).digest(), "little") % L
    x, y, z, _ = add(times(second, BASE), times(L - k, point(public)))
    x, y = x * pow(z, -1, P) % P, y * pow(z, -1, P) % P
    # -k is L - k for points of the prime order, which honest keys are
    return len(signature) == 64 and second < L and (y | (x & 1) << 255).to_bytes(32, "little") == first


def b64(text: str) -> bytes:
    data = base64.b64decode(text, validate=True)
    assert base64.b64encode(data).decode() == text
    return data


def hexed(text: str, size: int) -> bytes:
    data = bytes.fromhex(text)
    assert data.hex() == text
    assert len(data) == size
    return data


def plain(data: bytes, names: str) -> Any:
    found = json.loads(data)
    again = json.dumps(found, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    assert again.encode() == data
    assert sorted(found) == sorted(names.split())
    return found


def root(row: bytes, place: int, rows: int, path: list[bytes]) -> bytes:
    """The root by the definition of the tree: split at the largest power of two below its leaves."""
    if rows == 1:
        assert not path
        return hashlib.sha256(b"\0" + row).digest()
    half = 1 << (rows - 1).bit_length() - 1
    *lower, other = path
    if place < half:
        return hashlib.sha256(b"\1" + root(row, place, half, lower) + other).digest()
    return hashlib.sha256(b"\1" + other + root(row, place - half, rows - half, lower)).digest()


def accepts(data: bytes, trusted: bytes) -> bool:
    """Whether a bundle holds, signed by the key that is trusted."""
    try:
        bundle = plain(data, "envelope key rating rows schema")
        envelope, rating = bundle["envelope"], json.loads(bundle["rating"])
        payload, (signature,) = b64(envelope["payload"]), envelope["signatures"]
        statement = plain(payload, "_type predicate predicateType subject")
        kind = b"application/vnd.in-toto+json"
        message = b" ".join([b"DSSEv1", b"%d" % len(kind), kind, b"%d" % len(payload), payload])
        subject = {
            "name": "rating.json",
            "digest": {"sha256": hashlib.sha256(bundle["rating"].encode()).hexdigest()},
        }
        held = [
            bundle["schema"] == "trustgauge.proof/1",
            b64(bundle["key"]) == trusted,
            sorted(envelope) == ["payload", "payloadType", "signatures"],
            envelope["payloadType"].encode() == kind,
            signature == {"keyid": hashlib.sha256(trusted).hexdigest(), "sig": signature["sig"]},
            is_signed(trusted, b64(signature["sig"]), message),
            statement["_type"] == "https://in-toto.io/Statement/v1",
            statement["predicateType"] == "urn:trustgauge:signed-rating:1",
            statement["subject"] == [subject],
            statement["predicate"]["answers"] == rating["run"].get("tree"),
            statement["predicate"]["run"] == rating["run"]["id"],
            statement["predicate"]["expires"] == rating["run"]["expires"],
        ]
        places: list[int] = []
        for row in bundle["rows"]:
            assert sorted(row) == ["index", "nonce", "path", "row"]
            assert type(row["index"]) is int
            tree, places = rating["run"]["tree"], [*places, row["index"]]
            assert 0 <= row["index"] < tree["rows"]
            leaf = hexed(row["nonce"], 16) + hashlib.sha256(row["row"].encode()).digest()
            path = [hexed(one, 32) for one in row["path"]]
            held.append(root(leaf, row["index"], tree["rows"], path).hex() == tree["root"])
            held.append(isinstance(json.loads(row["row"]), dict))
        return all(held) and places == sorted(set(places))
    except (AssertionError, KeyError, TypeError, ValueError, AttributeError, IndexError):
        return False
