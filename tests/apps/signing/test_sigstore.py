"""Sigstore's own client signs and verifies by an instance of it on this machine; nothing else is reached."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.apps.signing.sigstore_instance import SigstoreInstance, identity_token
from tests.apps.signing.test_signing import run_command, small
from trustgauge.errors import KeyMissingError, StoreError, UnavailableError, VerifyError
from trustgauge.records import canonical
from trustgauge.run.accumulator import AnswerTree
from trustgauge.run.envelope import statement
from trustgauge.run.sigstore_bundle import TOKEN, check_bundle, sign_statement

pytest.importorskip("sigstore", reason="sigstore is not installed")
# Here, as `pytester` drops what is first imported within it: half of this package would be imported twice.
pytest.importorskip("requests", reason="sigstore is not installed")
RATER, ISSUER = "rater@example.org", "https://login.example.org"


def document(**more: Any) -> dict[str, Any]:
    tree = AnswerTree([])
    tree.add(b"{}\n")
    return small(tree, **more)


@pytest.fixture(scope="module")
def instance() -> Iterator[SigstoreInstance]:
    with SigstoreInstance() as running:
        yield running


@pytest.fixture
def files(instance: SigstoreInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Its configuration and its roots; a token stands in the environment."""
    monkeypatch.setenv(TOKEN, identity_token(RATER, ISSUER))
    return instance.write(tmp_path)


def signed(config: Path, folder: Path, **more: Any) -> tuple[Path, bytes, dict[str, Any]]:
    """A signed document: its bundle, its bytes, and itself."""
    about = document(**more)
    rating = canonical(about).encode()
    bundle = folder / "rating.sigstore.json"
    bundle.write_text(sign_statement(statement(rating, about, "2026-11-23T10:00:00+00:00"), config), "utf-8")
    return bundle, rating, about


def test_a_rating_is_signed_under_a_name_and_verified_offline(
    files: tuple[Path, Path], instance: SigstoreInstance, tmp_path: Path
) -> None:
    config, root = files
    for _ in range(3):  # entries with longer and longer ways to the root
        bundle, rating, about = signed(config, tmp_path)
    asked = len(instance.server.requests)
    found = check_bundle(bundle, rating, about, identity=RATER, issuer=ISSUER, root=root)
    assert asdict(found) == {
        "identity": RATER, "issuer": ISSUER, "signed": "2026-11-23T10:00:00+00:00", "is_known": True,
    }  # fmt: skip
    assert not check_bundle(bundle, rating, about, root=root).is_known
    assert len(instance.server.requests) == asked
    sent = b"".join(one.body for one in instance.server.requests)
    assert rating not in sent


@pytest.mark.parametrize(
    "wanted", [{"identity": "you@example.org"}, {"identity": RATER, "issuer": "https://other.example.org"}]
)
def test_another_name_or_another_login_is_refused(
    wanted: dict[str, str], files: tuple[Path, Path], tmp_path: Path
) -> None:
    bundle, rating, about = signed(files[0], tmp_path)
    with pytest.raises(VerifyError, match="does not hold"):
        check_bundle(bundle, rating, about, root=files[1], **wanted)


def test_another_rating_than_the_signed_one_is_refused(files: tuple[Path, Path], tmp_path: Path) -> None:
    bundle, _, _ = signed(files[0], tmp_path)
    other = document(name="another")
    with pytest.raises(VerifyError, match="not the one that was signed"):
        check_bundle(bundle, canonical(other).encode(), other, root=files[1])


def test_the_roots_of_another_instance_are_refused(files: tuple[Path, Path], tmp_path: Path) -> None:
    bundle, rating, about = signed(files[0], tmp_path)
    (tmp_path / "other").mkdir()
    with SigstoreInstance() as other, pytest.raises(VerifyError, match="does not hold"):
        check_bundle(bundle, rating, about, root=other.write(tmp_path / "other")[1])


PLACES = {
    "certificate": ("verificationMaterial", "certificate", "rawBytes"),
    "entry": ("verificationMaterial", "tlogEntries", 0, "canonicalizedBody"),
    "promise": ("verificationMaterial", "tlogEntries", 0, "inclusionPromise", "signedEntryTimestamp"),
    "root": ("verificationMaterial", "tlogEntries", 0, "inclusionProof", "rootHash"),
    "payload": ("dsseEnvelope", "payload"),
    "signature": ("dsseEnvelope", "signatures", 0, "sig"),
}


@pytest.mark.parametrize("part", PLACES)
def test_a_flipped_bit_in_any_part_is_refused(part: str, files: tuple[Path, Path], tmp_path: Path) -> None:
    bundle, rating, about = signed(files[0], tmp_path)
    whole = bundle.read_text("utf-8")
    *way, last = PLACES[part]
    for share in (0.1, 0.5, 0.9):
        content = json.loads(whole)
        held = content
        for step in way:
            held = held[step]
        data = bytearray(base64.b64decode(held[last]))
        data[int(share * len(data))] ^= 4
        held[last] = base64.b64encode(data).decode()
        bundle.write_text(json.dumps(content), "utf-8")
        with pytest.raises(VerifyError):
            check_bundle(bundle, rating, about, root=files[1])


@pytest.mark.parametrize("text", ["", "{}", "null", "[" * 5000, '{"mediaType": 3}', "\u2014"])
def test_what_is_no_bundle_is_refused(text: str, files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "bundle.json").write_text(text, "utf-8")
    about = document()
    with pytest.raises(VerifyError, match="does not hold"):
        check_bundle(tmp_path / "bundle.json", canonical(about).encode(), about, root=files[1])


def test_what_is_missing_or_unreachable_is_said(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, rating, about = signed(files[0], tmp_path)
    with pytest.raises(StoreError, match="--trust-root"):
        check_bundle(bundle, rating, about, root=tmp_path / "nowhere.json")
    with pytest.raises(StoreError, match="client trust configuration"):
        sign_statement(b"{}", files[1])
    with SigstoreInstance() as other:
        (tmp_path / "gone").mkdir()
        gone, _ = other.write(tmp_path / "gone")
    with pytest.raises(UnavailableError, match="did not sign"):
        sign_statement(statement(rating, about, "2026"), gone)
    monkeypatch.setenv(TOKEN, "no.token.this")
    with pytest.raises(KeyMissingError, match="cannot be used"):
        sign_statement(statement(rating, about, "2026"), files[0])


def test_the_verbs_sign_and_verify_by_sigstore(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, root = files
    monkeypatch.chdir(tmp_path)
    run_command("init", "--demo")
    run_command("rate", "--quiet", "--texts", 20)
    refused = run_command("verify", "--identity", RATER)
    assert "not signed by Sigstore" in refused.output
    assert "rating.sigstore.json" in run_command("sign", "--sigstore", "--trust-config", config).output
    output = run_command("verify", "--trust-root", root, "--identity", RATER, "--issuer", ISSUER).output
    assert f"by {RATER}, says {ISSUER} (Sigstore)" in output
    assert "whether that is who you expect" in run_command("verify", "--trust-root", root).output
    wrong = run_command("verify", "--trust-root", root, "--identity", "you@example.org")
    assert wrong.return_value.code == 10
