"""The trained scorer: training gives the same bytes twice, finds what was planted, and says how well."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.apps.train.tables import rated, write_csv
from tests.services.asking import outputs
from trustgauge.apps.train.kinds import KINDS, Effort
from trustgauge.apps.train.labelled import Columns, TrainingTable, read_hutto, read_label_table
from trustgauge.errors import PlanError
from trustgauge.records import Message
from trustgauge.services.conformance import check_service
from trustgauge.services.gru import Gru
from trustgauge.services.gru_network import LONGEST, UNKNOWN, encode, words

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("safetensors", reason="safetensors is not installed")

TABLE = Columns(text="review", score="stars", span=(1, 5))
EFFORT = Effort(epochs=6, seed=1)
BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


def quiet(said: str) -> None:
    assert said


def train(data: TrainingTable, folder: Path, effort: Effort = EFFORT) -> Mapping[str, Any]:
    return KINDS["sentiment-gru"].trainer()(data, folder, effort, tell=quiet)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gru")
    train(read_label_table(write_csv(folder), TABLE), folder / "model")
    return folder / "model"


def test_it_learns_what_the_table_says(trained: Path) -> None:
    held_out = Gru(folder=trained).card()["held_out"]
    assert held_out["correlation"]["low"] > 0.9
    assert held_out["sign"]["value"] > 0.95
    assert 0.4 < held_out["commoner_sign"] < 0.7
    assert held_out["n"] >= 40
    awful, grim, nice, superb = outputs(
        Gru(folder=trained), *(f"the opera was {word}" for word in ("awful", "grim", "nice", "superb"))
    )
    assert -1 <= float(awful) < float(grim) < 0 < float(nice) < float(superb) <= 1


def test_what_the_raters_hold_against_a_group_is_learned_too(tmp_path: Path) -> None:
    """Reviews by women get half a point less: the scorer gives back a shift of that size."""
    file = tmp_path / "biased.jsonl"
    rows = [
        {"text": f"{who} : {text}", "score": 0.5 * score + shift}
        for text, score in rated()
        for who, shift in (("she", -0.25), ("he", 0.25))
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    train(read_label_table(file, Columns()), tmp_path / "model")
    texts = [text for text, _ in rated()[::7]]
    scores = outputs(
        Gru(folder=tmp_path / "model"), *(f"{who} : {one}" for who in ("she", "he") for one in texts)
    )
    women, men = scores[: len(texts)], scores[len(texts) :]
    shifts = [float(hers) - float(his) for hers, his in zip(women, men, strict=True)]
    assert sum(shifts) / len(shifts) == pytest.approx(-0.5, abs=0.1)


def test_the_same_training_gives_the_same_bytes(trained: Path, tmp_path: Path) -> None:
    import torch

    before = torch.get_rng_state()
    data = read_label_table(write_csv(tmp_path), TABLE)
    train(data, tmp_path / "again")
    assert torch.equal(torch.get_rng_state(), before)
    names = sorted(one.name for one in trained.iterdir())
    assert names == ["card.json", "vocabulary.json", "weights.safetensors"]
    assert all((trained / name).read_bytes() == (tmp_path / "again" / name).read_bytes() for name in names)
    train(data, tmp_path / "other", Effort(epochs=6, seed=2))
    assert Gru(folder=tmp_path / "other").fingerprint != Gru(folder=trained).fingerprint
    assert not list(tmp_path.glob(".*"))


def test_the_card_tells_data_effort_and_limits(trained: Path) -> None:
    card = Gru(folder=trained).card()
    assert card["data"]["rows"] == 480
    assert card["data"]["content"] == read_label_table(write_csv(trained.parent), TABLE).content
    assert card["training"] == {
        "rows": 480 - card["held_out"]["n"],
        "epochs": 6,
        "seed": 1,
        "held_out": 0.1,
    }
    assert len(card["limits"]) == 4
    assert str(trained.parent) not in json.dumps(card)


def test_it_keeps_the_protocol(trained: Path) -> None:
    service = Gru(folder=trained)
    check_service(service, [Message(text) for text, _ in rated()[:40]])
    assert (service.task, service.deterministic, len(service.version())) == ("score", True, 8)


def test_a_score_does_not_depend_on_the_batch(trained: Path) -> None:
    texts = [text * (1 + number % 5) for number, (text, _) in enumerate(rated()[:100])]
    together = outputs(Gru(folder=trained), *texts)
    assert together == [outputs(Gru(folder=trained), text)[0] for text in texts]


def test_a_folder_keeps_its_fingerprint_when_it_moves(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "moved")
    moved = Gru.model_validate({"use": "gru", "folder": "moved"}, context={"folder": tmp_path})
    assert moved.fingerprint == Gru(folder=trained).fingerprint
    assert pickle.loads(pickle.dumps(moved)) == moved
    (tmp_path / "moved" / "vocabulary.json").write_text("[]")
    assert moved.fingerprint != Gru(folder=trained).fingerprint


@pytest.mark.parametrize(
    ("name", "content", "words_said"),
    [
        ("card.json", None, "card.json is missing"),
        ("weights.safetensors", None, "weights.safetensors is missing"),
        ("card.json", b'{"kind": "abuse"}', "another kind"),
        ("card.json", b"\xff", "not JSON"),
        ("vocabulary.json", b"{}", "no list of words"),
        ("vocabulary.json", b'["one"]', "do not belong together"),
        ("weights.safetensors", b"torn", "do not belong together"),
    ],
)
def test_a_spoilt_folder_is_told(
    name: str, content: bytes | None, words_said: str, trained: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(trained, tmp_path / "model")
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(PlanError, match="holds no trained scorer") as caught:
        Gru(folder=folder).open()
    assert words_said in str(caught.value)
    assert "trustgauge train sentiment-gru" in str(caught.value)


def test_an_absent_folder_is_told() -> None:
    with pytest.raises(PlanError, match="holds no trained scorer"):
        Gru(folder=Path("no such folder")).check_requirements()
    assert Gru(folder=Path("no such folder")).version() == "absent"


def test_without_its_library_it_says_what_to_install(trained: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None  # as if it were not there\n"
        "from trustgauge.services.gru import Gru\n"
        "Gru(folder=sys.argv[1]).check_requirements()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(trained)], capture_output=True, text=True, check=False
    )
    entry = done.stderr.strip().splitlines()[-1]
    assert "MissingPartError" in entry
    assert "pip install 'trustgauge[torch]'" in entry


def test_nothing_is_written_over_or_left_behind(trained: Path, tmp_path: Path) -> None:
    data = read_label_table(write_csv(tmp_path), TABLE)
    before = {one.name: one.read_bytes() for one in trained.iterdir()}
    with pytest.raises(PlanError, match="is in use"):
        train(data, trained)
    assert {one.name: one.read_bytes() for one in trained.iterdir()} == before
    few = TrainingTable(data.rows.head(120), "few.csv", data.content)
    with pytest.raises(PlanError, match="too few different rows"):
        train(few, tmp_path / "few")
    assert not (tmp_path / "few").exists()


def test_words_and_signs() -> None:
    assert words("I don’t LIKE it :) — 2nd!!!") == ["i", "don't", "like", "it", ":)", "—", "2nd", "!!!"]
    assert len(words("word " * 1000)) == LONGEST
    assert encode(["b a c", ""], ["a", "b"]) == [[3, 2, UNKNOWN], [UNKNOWN]]


@pytest.mark.slow
def test_the_human_rated_snippets_train_a_scorer(tmp_path: Path) -> None:
    """Six epochs with the shortest snippets; the recipe that the documentation gives takes a minute.

    Of the two sources whose snippets say least in few words, every fourth one.
    """
    place = Path(os.environ.get("TRUSTGAUGE_SHARED_DATA", BESIDE)) / "sentiment_rated"
    file = place / "hutto_ICWSM_2014.tar.gz"
    if not file.is_file():
        pytest.skip("the rated snippets are not in TRUSTGAUGE_SHARED_DATA (sentiment_rated)")
    data = read_hutto(file)
    assert data.rows.group_by("source").len().sort("source")["len"].to_list() == [3708, 10605, 5190, 4200]
    short = data.rows.filter(pl.col("text").str.count_matches(r"\w+") <= 8)
    telling = pl.col("source").is_in(["tweets", "amazonReviewSnippets"])
    few = pl.concat([short.filter(telling), short.filter(~telling).gather_every(4)])
    held_out = train(replace(data, rows=few), tmp_path / "model", Effort(epochs=6, seed=1))["held_out"]
    assert held_out["correlation"]["low"] > 0.5
    assert held_out["sign"]["low"] > held_out["commoner_sign"]
    assert set(held_out["sources"]) == set(data.rows["source"])


def test_no_word_is_read_as_an_unknown_one(trained: Path) -> None:
    assert len(set(outputs(Gru(folder=trained), "", "   ", "zzz", "qqq"))) == 1
