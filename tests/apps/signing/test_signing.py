"""Locks, keys, signatures and proofs, as people and as forgers use them."""

from __future__ import annotations

import base64
import json
import os
import pty
import random
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives import serialization as forms
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.apps.signing import independent
from trustgauge.cli.main import group
from trustgauge.errors import StoreError, VerifyError
from trustgauge.records import canonical
from trustgauge.run.accumulator import AnswerTree
from trustgauge.run.envelope import seal
from trustgauge.run.proof_bundle import bundle_text, check_bundle

PASSPHRASE = "a passphrase of the tests"
KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
PUBLIC = KEY.public_key().public_bytes_raw()
OTHER = Ed25519PrivateKey.from_private_bytes(b"o" * 32)


@pytest.fixture(autouse=True)
def passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUSTGAUGE_KEY_PASSPHRASE", PASSPHRASE)
    for name in ("TRUSTGAUGE_SIGNING_KEY", "TRUSTGAUGE_KEY_FILE", "TRUSTGAUGE_VERIFY_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "test.pub"
    path.write_bytes(
        KEY.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo)
    )
    return path


def small(tree: AnswerTree, **more: Any) -> dict[str, Any]:
    """The shortest document of a run with answers."""
    run = {
        **{"id": "TG-2026-1122-7f3a", "name": "", "seed": 1, "state": "complete", "hashes": {"plan": "p"}},
        **{"versions": {}, "started": "2026", "ended": "2026", "expires": "2027-02-21", "command": ""},
        **{"collected": "", "assessor": {"name": "a", "relationship": "not stated", "paid_by": ""}},
        **{"services": {}, "costs": {}, "anchors": [], "paper": {}, "stopped": ""},
        "tree": {"root": tree.root().hex(), "rows": tree.rows},
    }
    return {"schema": "trustgauge.rating/1", "run": {**run, **more}, "ratings": []}


def made(rows: int, shown: list[int], key: Ed25519PrivateKey = KEY, **more: Any) -> dict[str, Any]:
    """A signed bundle of so many short answers, as data."""
    tree = AnswerTree(shown)
    for place in range(rows):
        tree.add(canonical({"id": f"u{place}", "message": "He", "output": f"é{place}"}).encode() + b"\n")
    document = small(tree, **more)
    rating = canonical(document)
    signed = {
        "envelope": seal(rating.encode(), document, key, "2026-11-23T10:00:00+00:00"),
        "key": base64.b64encode(key.public_key().public_bytes_raw()).decode(),
    }
    bundle: dict[str, Any] = json.loads(bundle_text(rating, signed, tree.proofs()))
    return bundle


def holds(data: bytes, public: Path) -> bool:
    try:
        check_bundle(data, public)
    except VerifyError:
        return False
    return True


def test_every_bit_of_a_small_bundle_counts(public: Path) -> None:
    data = canonical(made(3, [1])).encode()
    assert holds(data, public)
    for place in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        assert not holds(bytes(flipped), public), place


def test_bits_of_a_large_bundle_count(public: Path) -> None:
    data = canonical(made(3000, list(range(0, 3000, 50)))).encode()
    assert holds(data, public)
    draw = random.Random(1)
    for _ in range(150):
        flipped = bytearray(data)
        flipped[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        assert not holds(bytes(flipped), public)


def again(bundle: dict[str, Any], statement: Callable[[Any], None]) -> None:
    """Sign another statement with the right key: what a careless tool might write."""
    envelope = bundle["envelope"]
    said = json.loads(base64.b64decode(envelope["payload"]))
    statement(said)
    payload = canonical(said).encode()
    kind = envelope["payloadType"].encode()
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    envelope["payload"] = base64.b64encode(payload).decode()
    envelope["signatures"][0]["sig"] = base64.b64encode(KEY.sign(message)).decode()


def malleable(bundle: dict[str, Any]) -> None:
    """The same signature with the group's order added to its number."""
    data = base64.b64decode(bundle["envelope"]["signatures"][0]["sig"])
    more = int.from_bytes(data[32:], "little") + independent.L
    _sig(bundle, data[:32] + more.to_bytes(32, "little"))


def _sig(bundle: dict[str, Any], data: bytes) -> None:
    bundle["envelope"]["signatures"][0]["sig"] = base64.b64encode(data).decode()


def _row(key: str, change: Callable[[Any], Any], place: int = 0) -> Callable[[dict[str, Any]], None]:
    def act(bundle: dict[str, Any]) -> None:
        bundle["rows"][place][key] = change(bundle["rows"][place][key])

    return act


def _at(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def act(bundle: dict[str, Any]) -> None:
        inner: Any = bundle
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value

    return act


def _said(**more: Any) -> Callable[[dict[str, Any]], None]:
    return lambda bundle: again(bundle, lambda said: said.update(more))


def _inner(**more: Any) -> Callable[[dict[str, Any]], None]:
    return lambda bundle: again(bundle, lambda said: said["predicate"].update(more))


HOSTILE: list[Callable[[dict[str, Any]], Any]] = [
    _at("schema", value="trustgauge.proof/2"),
    _at("key", value=None),
    _at("key", value=base64.b64encode(OTHER.public_key().public_bytes_raw()).decode()),
    _at("key", value=base64.b64encode(PUBLIC + b"\0").decode()),
    _at("key", value=base64.b64encode(PUBLIC).decode().rstrip("=")),
    _at("key", value=[1]),
    _at("rating", value="{}"),
    _at("rating", value=None),
    _at("rating", value="\ud800"),
    _at("envelope", value=None),
    _at("envelope", value=[]),
    _at("envelope", "payload", value=""),
    _at("envelope", "payload", value="e30="),
    _at("envelope", "payloadType", value="application/json"),
    _at("envelope", "payloadType", value=1),
    _at("envelope", "more", value=1),
    _at("envelope", "signatures", value=[]),
    _at("envelope", "signatures", value={"0": 1}),
    _at("envelope", "signatures", 0, value=None),
    _at("envelope", "signatures", 0, "keyid", value=""),
    _at("envelope", "signatures", 0, "keyid", value="0" * 64),
    _at("envelope", "signatures", 0, "sig", value=""),
    _at("envelope", "signatures", 0, "more", value=""),
    lambda bundle: bundle["envelope"]["signatures"].append(bundle["envelope"]["signatures"][0]),
    lambda bundle: _sig(bundle, bytes(64)),
    lambda bundle: _sig(bundle, OTHER.sign(b"DSSEv1")),
    malleable,
    lambda bundle: bundle.update(more=1),
    lambda bundle: bundle.pop("rows"),
    lambda bundle: bundle.update(rows={}) or bundle.update(rows=5),
    lambda bundle: bundle.update(made(9, [2, 3, 7], OTHER)),
    lambda bundle: bundle.update(rows=made(8, [2, 3, 7])["rows"]),
    lambda bundle: bundle.update(rating=made(9, [2], expires="2099-01-01")["rating"]),
    lambda bundle: bundle["rows"].reverse(),
    lambda bundle: bundle["rows"].append(bundle["rows"][-1]),
    _row("index", lambda index: index + 1),
    _row("index", lambda index: -index),
    _row("index", float),
    _row("index", str),
    _row("index", lambda index: index + 2**70),
    _row("nonce", lambda nonce: "0" * 32),
    _row("nonce", lambda nonce: nonce[:-2]),
    _row("nonce", str.upper),
    _row("row", lambda row: row.replace("He", "Hi")),
    _row("row", lambda row: row + " "),
    _row("path", lambda path: path[:-1]),
    _row("path", lambda path: [*path, path[0]]),
    _row("path", lambda path: path[::-1]),
    _row("path", lambda path: [one.upper() for one in path]),
    _row("path", lambda path: None),
    _said(predicateType="https://in-toto.io/attestation/test-result/v0.1"),
    _said(_type="https://in-toto.io/Statement/v0.1"),
    _said(subject=[]),
    _said(subject=[{"name": "rating.json", "digest": {"sha256": "0" * 64}}]),
    _said(more=1),
    _inner(expires="2099-01-01"),
    _inner(answers=None),
    _inner(run="TG-2026-1122-0000"),
]


def test_an_independent_reader_agrees_on_good_and_hostile_bundles(public: Path) -> None:
    good = [made(rows, shown) for rows in range(1, 31) for shown in [sorted({0, rows // 2, rows - 1})]]
    datas = [canonical(one).encode() for one in good]
    hostile = []
    for change in HOSTILE:
        bundle = made(9, [2, 3, 7])
        change(bundle)
        hostile.append(json.dumps(bundle, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
    texts = [one.encode("utf-8", "surrogatepass") for one in hostile]
    texts += [
        datas[5] + b"\n",
        datas[5].replace(b"{", b"{ ", 1),
        datas[5][:-1] + b',"schema":"x"}',
        b"",
        b"null",
    ]
    assert len(datas) == 30
    assert len(texts) >= 50
    assert [holds(one, public) for one in datas] == [independent.accepts(one, PUBLIC) for one in datas]
    assert all(holds(one, public) for one in datas)
    found = [(holds(one, public), independent.accepts(one, PUBLIC)) for one in texts]
    assert found == [(False, False)] * len(texts)


def run_command(*arguments: object) -> Result:
    """The verb in this process; what stops it with a message of ours is raised."""
    return CliRunner().invoke(
        group, [str(one) for one in arguments], standalone_mode=False, catch_exceptions=False
    )


def asked_a_terminal(*arguments: str) -> str:
    """What the command prints where its output is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "trustgauge", *arguments]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs, env=os.environ | {"NO_COLOR": "1"}
    )
    os.close(theirs)
    seen = b""
    with suppress(OSError):  # the other end is closed
        while part := os.read(ours, 65_536):
            seen += part
    os.close(ours)
    assert process.wait(60) == 0
    return seen.decode().replace("\r\n", "\n")


def test_a_plan_is_locked_run_signed_and_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_command("init", "--demo")
    plan = Path("trustgauge.toml").read_text("utf-8")
    assert "texts = 200" in plan
    Path("trustgauge.toml").write_text(plan.replace("texts = 200", "texts = 50"), "utf-8")
    run_command("lock")
    with pytest.raises(StoreError, match="not the plan that was locked"):
        run_command("rate", "--texts", 40, "--quiet")
    run_command("rate", "--quiet")
    (run,) = (tmp_path / "ratings").glob("TG-*")
    assert json.loads((run / "rating.json").read_text("utf-8"))["run"]["lock"]["plan"]
    open_ = run_command("verify").output
    assert "before the run began" in open_
    assert "not signed" in open_

    run_command("key", "mine.pem")
    assert stat.S_IMODE(Path("mine.pem").stat().st_mode) == 0o600
    assert b"ENCRYPTED" in Path("mine.pem").read_bytes()
    run_command("sign", "--key", "mine.pem")
    assert "by key" in run_command("verify", "--key", "mine.pem.pub").output
    assert "whose key that is" in run_command("verify").output

    rows = [5, 17, *range(1190, 1198)]
    run_command("prove", "latest", 5, "--rows", "17,1190-1197", "-o", "proof.json")
    shown = run_command("verify", "proof.json", "--key", "mine.pem.pub").output
    assert "10 of 1,200 answers shown, each one rated; the other 1,190 stay unknown" in shown
    data = Path("proof.json").read_bytes()
    bundle = json.loads(data)
    assert [one["index"] for one in bundle["rows"]] == rows
    assert independent.accepts(data, base64.b64decode(bundle["key"]))
    assert json.loads(run_command("verify", "proof.json", "--json").output)["rows"][0]["status"] == "answered"
    run_command("prove", "latest", "u1-007", "-o", "one.json")
    named = json.loads(run_command("verify", "one.json", "--json").output)["rows"]
    assert {one["id"] for one in named} == {"u1-007"}

    shown = asked_a_terminal("prove", "latest", "5", "17")
    assert shown.startswith(f"proof    {run.name}, 3 ratings, signed")
    assert "rows     2 of 1,200 answers shown" in shown
    assert "-o FILE writes it" in shown
    assert len(shown) < 300
    assert (
        run_command("prove", "latest", 5, 17).stdout_bytes
        == asked_a_terminal("prove", "latest", "5", "17", "--json").encode()
    )

    changed = (run / "rating.json").read_text("utf-8").replace("2027-", "2028-")
    (run / "rating.json").write_text(changed, "utf-8")
    refused = run_command("verify", "--key", "mine.pem.pub")
    assert refused.return_value.code == 10
    assert "not the one that was signed" in refused.output
    with pytest.raises(VerifyError, match="nothing was signed: the rating does not follow from its answers"):
        run_command("sign", "--key", "mine.pem")
    (store,) = run.glob("*.sqlite")
    store.write_bytes(b"no store" * 1000)
    with pytest.raises(VerifyError, match="nothing was signed: its folder cannot be verified"):
        run_command("sign", "--key", "mine.pem")


def test_a_key_is_made_and_read_only_where_and_as_keys_are_kept(tmp_path: Path) -> None:
    from trustgauge.run.signing_keys import new_key, private_key, public_key

    run = tmp_path / "ratings" / "TG-2026-1122-7f3a"
    run.mkdir(parents=True)
    for name in ("manifest.json", "rating.json"):
        (run / name).write_text("{}")
    key = tmp_path / "keys" / "key.pem"
    with pytest.raises(StoreError, match="run folder"):
        new_key(run / "key.pem", PASSPHRASE)
    with pytest.raises(StoreError, match="too short"):
        new_key(key, "short")
    made_ = new_key(key, PASSPHRASE)
    assert key.parent.stat().st_mode & 0o777 == 0o700
    assert public_key(tmp_path / "keys" / "key.pem.pub") == made_
    assert private_key(key, PASSPHRASE).public_key().public_bytes_raw() == made_
    with pytest.raises(StoreError, match="exists"):
        new_key(key, PASSPHRASE)
    for wrong in ("another passphrase", None):
        with pytest.raises(StoreError, match="cannot be opened"):
            private_key(key, wrong)
    with pytest.raises(StoreError, match="no public key"):
        public_key(key)
    key.chmod(0o644)
    with pytest.raises(StoreError, match="read by others"):
        private_key(key, PASSPHRASE)
    (run / "key.pem").write_bytes(key.read_bytes())
    with pytest.raises(StoreError, match="run folder"):
        private_key(run / "key.pem", PASSPHRASE)
    bare = KEY.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    key.write_bytes(bare)
    key.chmod(0o600)
    with pytest.raises(StoreError, match="no encrypted key"):
        private_key(key, None)
    with pytest.raises(StoreError, match="no key to sign with"):
        private_key(None, None)


def test_a_key_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from trustgauge.run.signing_keys import private_key

    bare = KEY.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    monkeypatch.setenv("TRUSTGAUGE_SIGNING_KEY", bare.decode())
    assert private_key(None, None).public_key().public_bytes_raw() == PUBLIC


@pytest.mark.parametrize("text", ["", "[]", '{"schema":"trustgauge.lock/1"}', "[" * 100_000, "\x00"])
def test_what_is_no_lock_stops_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    run_command("init", "--demo")
    Path("trustgauge.toml.lock").write_text(text, "utf-8")
    with pytest.raises(StoreError, match="is no lock"):
        run_command("rate")
