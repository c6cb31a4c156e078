"""The kit that proves that a store keeps the contract of `store.Store`; for outsiders too.

    check_store(MyStore, tmp_path)

It opens stores in an empty folder, and asks nobody. It cannot pull the plug: that an answer survives the end
of its process once `add` has returned is for its author to see to.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.errors import StoreError
from trustgauge.records import RESPONSE, Answer, Message, canonical, digest, plain
from trustgauge.store import OpenStore, Store

OpenWith = Callable[..., OpenStore]
"""Opens a store at a path, with `read_only=True` for readers."""

SERVICE, OTHER = "5e" * 16, "0f" * 16
HOSTILE = "</script>\x00\x1b[31m\u202e'; DROP TABLE response; --"


def check_store(open_with: OpenWith, folder: Path) -> None:
    """Check a kind of store against the contract of `store.Store`.

    Args:
        open_with: the class of the store, or a function that opens one.
        folder: an empty one.

    Raises:
        AssertionError: the first thing that does not conform.
    """
    path = folder / "kit"
    with open_with(path) as store:
        _hold(isinstance(store, Store), "it lacks a function of Store")
        _check_rows(store)
        _check_keys(store)
        _check_failed(store)
        _check_probes(store)
        _check_sums(store)
        store.put("kit/0", HOSTILE)
        _hold(store.get("kit/0") == HOSTILE, "a document comes back changed")
        _hold(store.get("kit/1") is None, "a document that nobody put there")
        _check_others(open_with, path, store)
        kept = store.answers(SERVICE)
        total = store.hash([SERVICE])
        _hold(not _refused(store.integrity), "`integrity` refuses whole answers, or a script is lost")
    with open_with(path, read_only=True) as reader:
        _hold(reader.answers(SERVICE).equals(kept), "answers differ once it was closed and opened")
        _hold(reader.get("kit/0") == HOSTILE, "a document is lost once it was closed and opened")
        rows = reader.usable(SERVICE, [(_answer(number).message, 0) for number in (1, 101, 400)])
    with open_with(folder / "other") as other:
        _hold(
            other.take(rows, "TG-1") == 1,
            "`usable` and `take` hand over other than the answer that did not fail",
        )
        taken = other.answers(SERVICE)["output"].to_list()
        _hold(taken == ["output 1"], "an answer of another store comes changed")
        _hold(other.cost([SERVICE]).calls == 0, "an answer of another store costs again")
    with open_with(folder / "turned") as turned:
        turned.add([_answer_of(row) for row in reversed(kept.to_dicts())])
        _hold(turned.hash([SERVICE]) == total, "the hash depends on the order in which answers came")
        turned.add([_answer(301, message="0" * 32)])
        _hold(turned.hash([SERVICE]) != total, "the hash says nothing of an answer")
        _hold(
            _refused(turned.integrity), "`integrity` passes an answer under a wrong key; must be a StoreError"
        )


def _hold(holds: bool, fault: str) -> None:
    if not holds:
        raise AssertionError(f"the store breaks its contract: {fault}")


def _answer(number: int, **changes: Any) -> Answer:
    text = f"text {number}"
    facts = {"fingerprint": SERVICE, "message": digest("message", text), "draw": 0, "text": text}
    facts |= {"status": "answered", "output": f"output {number}", "at": "2026-11-22T12:00:00.000Z"}
    return Answer(**{**facts, **changes})


def _answer_of(row: dict[str, Any]) -> Answer:
    """The answer that a row was made of."""
    return Answer(fingerprint=SERVICE, **{**row, "trail": tuple(json.loads(row["trail"]))})


def _check_rows(store: OpenStore) -> None:
    """Rows come back as they were added: each once, whole, of one service only, sorted by key."""
    given = [_answer(number, draw=draw) for number in range(100) for draw in range(3)]
    known = {"output": HOSTILE, "trail": ("una enfermera", "ĉu ŝi?"), "attempts": 3, "usd": 0.25, "tokens": 7}
    given[0] = _answer(0, millis=12.5, **known)
    script = ("hello", "bye")
    key, place = Message("bye", session="s", user="ann", script=script, turn=1).key, [list(script), "ann", 1]
    given.append(_answer(400, message=key, text="bye", output="ж" * 200_000, script=canonical(place)))
    store.add(given[::-1])
    store.add([_answer(number, fingerprint=OTHER) for number in range(40)])
    rows = store.answers(SERVICE)
    _hold(rows.columns == ["message", "draw", "text", *RESPONSE], "columns of `answers`")
    _hold(
        store.answers("nobody").schema == rows.schema, "columns have other types where there are no answers"
    )
    keys = rows.select("message", "draw").rows()
    _hold(keys == sorted((one.message, one.draw) for one in given), "not each answer once, sorted by key")
    wanted = sorted(given, key=lambda one: (one.message, one.draw))
    for row, one in zip(rows.to_dicts(), wanted, strict=True):
        whole = replace(one, script="")  # of it no row tells, and `integrity` does
        same = canonical(plain(_answer_of(row))) == canonical(plain(whole))
        _hold(same, f'"{one.text}" comes back changed')


def _check_keys(store: OpenStore) -> None:
    """`present`, `holds` and `answers_to` say of some keys what `answers` says of all."""
    store.add([_answer(number, status="failed", output=None) for number in range(100, 103)])
    rows = store.answers(SERVICE)
    good = set(rows.filter(pl.col("status") != "failed").select("message", "draw").rows())
    _hold(store.present(SERVICE) == good, "`present` is not every answer that did not fail")
    keys = [(_answer(number).message, draw) for number in range(98, 105) for draw in (1, 0)]
    _hold(store.holds(SERVICE, keys) == [key in good for key in keys], "`holds` differs from `present`")
    _hold(store.holds(SERVICE, []) == [], "`holds` says something of no keys")
    some = store.answers_to(SERVICE, keys).sort("message", "draw")
    asked = pl.DataFrame(keys, schema=["message", "draw"], orient="row")
    same = some.equals(rows.join(asked, on=["message", "draw"], how="semi"))
    _hold(same, "`answers_to` differs from `answers`")


def _check_failed(store: OpenStore) -> None:
    """A failed answer gives way to the next and leaves its costs; a good one is never overwritten."""
    failed = {"status": "failed", "output": None}
    store.add([_answer(200, **failed, attempts=6, usd=0.5, tokens=2)])
    store.add([_answer(200, attempts=2, usd=0.25, tokens=3)])
    store.add([_answer(200, output="second"), _answer(200, **failed)])
    rows = store.answers_to(SERVICE, [(_answer(200).message, 0)])
    _hold(rows["output"].to_list() == ["output 200"], "a good answer is overwritten, or a failed one stays")
    costs = rows.select("attempts", "usd", "tokens").row(0)
    _hold(costs == (8, 0.75, 5), "the costs of a failed answer are lost, or those of a refused row count")


def _check_probes(store: OpenStore) -> None:
    """Probes come back in the order they were added, each once."""
    ids = ["u1-002", "b1-001"]
    probes = pl.DataFrame({"id": ids, "message": ["She is a nurse.", 'He "is" one.'], "draw": [0, 1]})
    probes = probes.with_columns(session=pl.lit(""), turn=pl.lit(0, pl.Int64), block=pl.lit("u1"))
    probes = probes.with_columns(pattern=pl.lit("plain"))
    for one in (probes, probes.with_columns(pl.col("id") + "-a"), probes):
        store.add_probes("0", one)
    _hold(
        store.probes("0")["id"].to_list() == [*ids, "u1-002-a", "b1-001-a"], "probes are lost or out of order"
    )
    facts = {json.loads(text).get("pattern") for text in store.probes("0")["factors"]}
    _hold(facts == {"plain"}, "factors of probes are lost")
    slices = pl.concat(store.probe_slices("0"))
    _hold(slices.equals(store.probes("0")), "`probe_slices` differs from `probes`")


def _check_sums(store: OpenStore) -> None:
    """What answers cost is added up, and those of several draws are found together."""
    rows, cost = store.answers(SERVICE), store.cost([SERVICE])
    sums = rows["attempts"].sum(), rows["tokens"].sum(), rows["usd"].sum()
    _hold((cost.calls, cost.tokens, cost.usd) == sums, "`cost` is not the sum of the answers' costs")
    drawn = rows.filter(pl.col("draw") > 0)["text"].unique()
    again = rows.filter(pl.col("text").is_in(drawn.implode())).select("message", "draw").rows()
    found = [key for frame in store.repeats(SERVICE) for key in frame.select("message", "draw").rows()]
    _hold(sorted(set(found)) == again, "`repeats` is not every answer to a text that was asked twice")


def _check_others(open_with: OpenWith, path: Path, store: OpenStore) -> None:
    """There is one writer; readers see at once what it added, and cannot write."""
    _hold(_refused(lambda: open_with(path)), "a second writer is let in; must be a StoreError")
    with open_with(path, read_only=True) as reader:
        store.add([_answer(300)])
        _hold(
            reader.holds(SERVICE, [(_answer(300).message, 0)]) == [True], "a reader does not see new answers"
        )
        _hold(_refused(lambda: reader.add([_answer(301)])), "a reader may write; must be a StoreError")


def _refused(act: Callable[[], Any]) -> bool:
    try:
        act()
    except StoreError:
        return True
    return False
