"""Which store a run folder holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.rows import SERVICE, answer
from trustgauge.errors import PlanError, StoreError
from trustgauge.store import copy_stored_answers, kind_of, open_store


@pytest.mark.parametrize("kind", ["sqlite", "parquet"])
def test_a_folder_keeps_the_store_it_has(tmp_path: Path, kind: str) -> None:
    assert kind_of(tmp_path) is None
    with open_store(tmp_path, kind, read_only=False) as store:
        store.add([answer(1)])
    other = {"sqlite": "parquet", "parquet": "sqlite"}[kind]
    with open_store(tmp_path, other, read_only=False) as store:
        assert len(store.present(SERVICE)) == 1
    assert kind_of(tmp_path) == kind
    assert sorted(path.name for path in tmp_path.glob("store.*") if path.suffix != ".lock") == [
        f"store.{kind}"
    ]


def test_sqlite_is_the_usual_one(tmp_path: Path) -> None:
    open_store(tmp_path, read_only=False).close()
    assert kind_of(tmp_path) == "sqlite"


def test_nothing_to_read_and_no_such_kind(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store at"):
        open_store(tmp_path)
    with pytest.raises(PlanError, match="parquet"):
        open_store(tmp_path, "parket", read_only=False)
    assert not list(tmp_path.iterdir())


KINDS = [(a, b) for a in ("sqlite", "parquet") for b in ("sqlite", "parquet")]


@pytest.mark.parametrize("kinds", KINDS)
def test_copying_from_a_folder_of_either_kind(tmp_path: Path, kinds: tuple[str, str]) -> None:
    old, new = tmp_path / "TG-2026-1121-0a1b", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
    with open_store(old, kinds[0], read_only=False) as store:
        store.add([*(answer(number) for number in range(20)), answer(20, status="failed", output=None)])
    with open_store(new, kinds[1], read_only=False) as store:
        store.add([answer(0, output="mine")])
        wanted = [(answer(number).message, 0) for number in range(10, 30)]
        assert copy_stored_answers(old, store, SERVICE, wanted) == 10
        assert copy_stored_answers(old, store, SERVICE, wanted) == 0
        assert len(store.present(SERVICE)) == 11
        assert store.cost([SERVICE]).calls == 1
        store.integrity()


@pytest.mark.parametrize("kinds", KINDS)
def test_what_failed_gives_way_to_a_copied_answer_and_its_cost_stays(
    tmp_path: Path, kinds: tuple[str, str]
) -> None:
    """What a killed run left of a conversation must not stand in the way of a whole one beside it."""
    old, new = tmp_path / "TG-2026-1121-0a1b", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
    with open_store(old, kinds[0], read_only=False) as store:
        store.add([answer(number, output="theirs", attempts=7) for number in range(6)])
        store.add([answer(6, status="failed", output=None, error="service.rejected")])
    broken = {"status": "failed", "error": "unfinished", "usd": 0.25, "tokens": 5}
    rejected = {"status": "failed", "output": None, "error": "service.rejected"}
    with open_store(new, kinds[1], read_only=False) as store:
        store.add([answer(number, output="mine") for number in (0, 1)])
        store.add([answer(number, **broken) for number in (2, 3, 9)])
        store.add([answer(3, **broken), answer(4, **rejected), answer(6, **broken)])
        before = store.cost([SERVICE])
        wanted = [(answer(number).message, 0) for number in range(10)]
        held = store.holds(SERVICE, wanted)
        assert copy_stored_answers(old, store, SERVICE, wanted) == 4
        outputs = dict(store.answers(SERVICE).select("text", "output").rows())
        assert [outputs[f"text {n}"] for n in (0, 1, 2, 3, 5)] == ["mine"] * 2 + ["theirs"] * 3
        assert held[4], "a text that was rejected is not asked again"
        assert outputs["text 4"] is None
        assert store.holds(SERVICE, wanted) == [True] * 7 + [False] * 3
        for cost in (before, store.cost([SERVICE])):
            assert (cost.calls, cost.usd, cost.tokens) == (8, 1.25, 25)
        assert copy_stored_answers(old, store, SERVICE, wanted) == 0
        store.add([answer(9, attempts=2)])
        assert store.cost([SERVICE]).calls == 10
        store.integrity()
