"""Text classifiers, on a small real model: planted bias read back, protocol, faults in words."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.servers import LocalServer, Request, Response
from tests.services import tiny_bert
from tests.services.asking import outputs
from trustgauge.errors import KeyMissingError, PlanError, RejectedError, ServiceError
from trustgauge.records import Message
from trustgauge.services.conformance import check_service
from trustgauge.services.huggingface import HuggingFace

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TEXTS = [row[0] for row in tiny_bert.sentences()]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert.make(tmp_path_factory.mktemp("bert") / "model")


@pytest.fixture
def copy(bert: Path, tmp_path: Path) -> Path:
    return shutil.copytree(bert, tmp_path / "copy")


def change(folder: Path, **changes: Any) -> Path:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    return folder


def test_a_planted_bias_is_read_back(bert: Path) -> None:
    assert 300_000 < (bert / "model.safetensors").stat().st_size < 500_000
    scores = dict(zip(TEXTS, map(float, outputs(HuggingFace(folder=bert), *TEXTS)), strict=True))
    by_side: dict[bool, list[float]] = {True: [], False: []}
    for text, person, _, taught in tiny_bert.sentences():
        assert scores[text] == pytest.approx(taught, abs=0.1)
        by_side[person in ("this woman", "this girl")].append(scores[text])
    women, men = (sum(by_side[side]) / len(by_side[side]) for side in (True, False))
    assert women - men == pytest.approx(-tiny_bert.SHIFT, abs=0.02)


def test_it_keeps_the_protocol(bert: Path) -> None:
    service = HuggingFace(folder=bert, batch=7)
    check_service(service, [Message(text) for text in TEXTS[:20]])
    assert (service.task, service.deterministic, service.batch) == ("score", True, 7)


def test_a_score_does_not_depend_on_the_batch(bert: Path) -> None:
    mixed = [text * (1 + number % 3) for number, text in enumerate(TEXTS)]
    alone = outputs(HuggingFace(folder=bert, batch=1), *mixed)
    assert outputs(HuggingFace(folder=bert, batch=32), *mixed) == alone
    assert HuggingFace(folder=bert, batch=1).fingerprint == HuggingFace(folder=bert, batch=32).fingerprint
    single = HuggingFace(folder=bert, precision="single")
    assert not single.deterministic
    assert [float(one) for one in outputs(single, *mixed)] == pytest.approx(alone, abs=1e-4)


def test_scores_are_those_of_the_library(bert: Path) -> None:
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(bert)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(bert).eval()
    with torch.inference_mode():
        likely = torch.softmax(model(**tokenizer(TEXTS[0], return_tensors="pt")).logits, 1)[0].tolist()
    values = {"NEGATIVE": -0.5, "NEUTRAL": 0.25, "POSITIVE": 1.0}
    expected = sum(p * v for p, v in zip(likely, values.values(), strict=True))
    assert outputs(HuggingFace(folder=bert, labels=values), TEXTS[0]) == pytest.approx([expected], abs=1e-5)
    best = list(values.values())[likely.index(max(likely))]
    assert outputs(HuggingFace(folder=bert, labels=values, score="label"), TEXTS[0]) == [best]


def test_texts_that_are_too_long_are_cut_or_rejected_and_this_is_told(
    bert: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = " ".join(["happy"] * (tiny_bert.MOST - 2))  # with the two marks that enclose every text
    with caplog.at_level(logging.WARNING, "trustgauge"):
        fits = outputs(HuggingFace(folder=bert), whole)
        assert not caplog.records
        longer = outputs(HuggingFace(folder=bert), f"{whole} grim", f"{whole} sad")
    assert longer == fits * 2
    (record,) = caplog.records
    assert f"reads {tiny_bert.MOST} tokens: longer texts are cut" in record.getMessage()
    strict = HuggingFace(folder=bert, too_long="reject")
    assert outputs(strict, whole) == fits
    with pytest.raises(RejectedError, match=r"too long for the model\. Must be at most 24 tokens"):
        outputs(strict, f"{whole} grim")
    assert outputs(HuggingFace(folder=bert, max_tokens=4), "happy grim sad") == outputs(
        HuggingFace(folder=bert), "happy grim"
    )


def test_the_fingerprint_covers_the_model_and_not_its_place(bert: Path, copy: Path) -> None:
    first, second = HuggingFace(folder=bert), HuggingFace(folder=copy)
    assert first.fingerprint == second.fingerprint
    assert first.version() == second.version() != "absent"
    (copy / "README.md").write_text("words about it")
    assert second.fingerprint == first.fingerprint
    change(copy, hidden_act="relu")
    assert second.fingerprint != first.fingerprint
    assert HuggingFace(folder=bert, score="label").fingerprint != first.fingerprint
    named = HuggingFace(model="someone/some-model", revision=COMMIT)
    assert named.fingerprint != HuggingFace(model="someone/some-model", revision=COMMIT[::-1]).fingerprint
    assert (named.provider, named.version()) == ("someone", COMMIT[:8])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "either `folder` or `model`"),
        ({"model": "a/b", "revision": COMMIT, "folder": "here"}, "either `folder` or `model`"),
        ({"model": "a/b"}, "commit of 40 hex digits"),
        ({"model": "a/b", "revision": "main"}, "commit of 40 hex digits"),
        ({"folder": "here", "revision": COMMIT}, "belong to `model`"),
        ({"folder": "here", "labels": {"good": 2.0}}, "from -1 to 1; that of good"),
        ({"folder": "here", "labels": {"good": float("nan")}}, "finite number"),
        ({"model": "a/b", "revision": COMMIT, "key": "not a name"}, "name of an environment variable"),
        ({"folder": "here", "batch": 0}, "greater than or equal to 1"),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        HuggingFace.model_validate({"use": "huggingface"} | settings)
    assert said in str(caught.value)


def test_the_short_form() -> None:
    named = HuggingFace.named(f"someone/some-model@{COMMIT}")
    assert (named.model, named.revision, named.folder) == ("someone/some-model", COMMIT, None)
    assert HuggingFace.named("./models/mine").folder == Path("models/mine").absolute()
    for wrong in ("someone/some-model", "someone/some-model@main", f"@{COMMIT}"):
        with pytest.raises(ValueError, match="OWNER/NAME@COMMIT"):
            HuggingFace.named(wrong)


def test_a_folder_without_a_model_is_told(tmp_path: Path) -> None:
    service = HuggingFace.model_validate(
        {"use": "huggingface", "folder": "none"}, context={"folder": tmp_path}
    )
    with pytest.raises(PlanError, match="does not contain a model"):
        service.check_requirements()
    assert service.version() == "absent"


def test_without_its_libraries_it_says_what_to_install(bert: Path) -> None:
    code = (
        "import sys; sys.modules['transformers'] = None  # as if it were not there\n"
        "from trustgauge.services.huggingface import HuggingFace\n"
        "HuggingFace(folder=sys.argv[1]).check_requirements()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(bert)], capture_output=True, text=True, check=False
    )
    entry = done.stderr.strip().splitlines()[-1]
    assert "MissingPartError" in entry
    assert "pip install 'trustgauge[hf]'" in entry


def test_importing_the_services_loads_no_heavy_library() -> None:
    code = (
        "import sys, trustgauge.services.huggingface, trustgauge.services.gru, "
        "trustgauge.apps.train.sentiment_gru\n"
        "print({'torch', 'transformers', 'safetensors'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_key_that_is_not_set_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TG_HUB_TOKEN", raising=False)
    with pytest.raises(KeyMissingError, match="TG_HUB_TOKEN is not set"):
        HuggingFace(model="a/b", revision=COMMIT, key="TG_HUB_TOKEN").check_requirements()


def test_a_model_that_was_never_trained_to_classify_is_refused(copy: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(copy / "model.safetensors")
    del weights["classifier.weight"]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ServiceError, match="not trained to classify") as caught:
        HuggingFace(folder=copy).open()
    assert "classifier.weight" in str(caught.value)


@pytest.mark.parametrize("kind", ["regression", "multi_label_classification"])
def test_a_model_whose_labels_do_not_exclude_each_other_is_refused(kind: str, copy: Path) -> None:
    with pytest.raises(ServiceError, match="does not choose one of several labels") as caught:
        HuggingFace(folder=change(copy, problem_type=kind)).open()
    assert kind in str(caught.value)


@pytest.mark.parametrize(("name", "content"), [("config.json", "{"), ("model.safetensors", "torn")])
def test_a_spoilt_model_is_told(name: str, content: str, copy: Path) -> None:
    (copy / name).write_text(content)
    with pytest.raises(ServiceError, match=r"cannot be loaded\. Must be a classifier\. Got"):
        HuggingFace(folder=copy).open()


def test_a_device_that_is_not_there_is_told(bert: Path) -> None:
    with pytest.raises(ServiceError, match='the device "nowhere" cannot be used'):
        HuggingFace(folder=bert, device="nowhere").open()


def test_labels_without_known_values_are_told(copy: Path) -> None:
    odd = change(copy, id2label={0: "anger", 1: "joy", 2: "fear"}, label2id={"anger": 0, "joy": 1, "fear": 2})
    with pytest.raises(PlanError, match="no known values"):
        HuggingFace(folder=odd).open()
    values = {"anger": -1.0, "joy": 1.0, "fear": -0.8}
    assert -1 <= float(outputs(HuggingFace(folder=odd, labels=values), TEXTS[0])[0]) <= 1
    with pytest.raises(PlanError, match='the label "fear" has no value'):
        HuggingFace(folder=odd, labels={"anger": -1.0, "joy": 1.0}).open()


def hub(folder: Path) -> Callable[[Request], Response]:
    """Answers as the hub does for one model at one commit; it wants a token."""

    def answer(request: Request) -> Response:
        start = f"/someone/some-model/resolve/{COMMIT}/"
        file = folder / request.path.removeprefix(start)
        if request.headers.get("authorization") != "Bearer hub-token-0123456789":
            return Response(status=403, body=b"{}")
        if not request.path.startswith(start) or not file.is_file():
            return Response(status=404, headers=(("X-Error-Code", "EntryNotFound"),))
        content = file.read_bytes()
        head = (("X-Repo-Commit", COMMIT), ("ETag", f'"{file.name}-1"'), ("X-Linked-Size", str(len(content))))
        return Response(body=content, headers=head)

    return answer


ASK = """
import asyncio, os, sys
from trustgauge.errors import ServiceError
from trustgauge.records import Message
from trustgauge.services.huggingface import HuggingFace

def opened(commit):
    try:
        return HuggingFace(model="someone/some-model", revision=commit).open()
    except ServiceError as error:
        print(type(error).__name__, error, file=sys.stderr)

commit, other, token, *texts = sys.argv[1:]
assert opened(other) is None
os.environ["HF_TOKEN"] = token
print(repr([reply.output for reply in asyncio.run(opened(commit).ask([Message(text) for text in texts]))]))
"""


def ask_elsewhere(other: str, token: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as the libraries read the environment when they are imported.

    Before the model is asked, with a token, it is opened at another commit (or the same) without one.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    return subprocess.run(
        [sys.executable, "-c", ASK, COMMIT, other, token, *TEXTS[:3]],
        env=kept | environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_named_model_comes_from_the_hub_once_and_then_from_the_cache(
    bert: Path, tmp_path: Path, serve: Callable[..., LocalServer]
) -> None:
    server = serve(hub(bert))
    cache = {"HF_HOME": str(tmp_path / "cache"), "HF_ENDPOINT": server.url, "HF_HUB_DISABLE_XET": "1"}
    loaded = ask_elsewhere(COMMIT, "hub-token-0123456789", **cache)
    assert "cannot be loaded" in loaded.stderr
    assert loaded.stdout.strip() == repr(outputs(HuggingFace(folder=bert), *TEXTS[:3])), loaded.stderr
    asked = len(server.requests)
    assert all("someone/some-model/" in request.path for request in server.requests)  # and nothing else
    assert "convert" not in "".join(request.target for request in server.requests)
    # At another commit nothing is in the cache.
    offline = ask_elsewhere(COMMIT[::-1], "", **cache, HF_HUB_OFFLINE="1")
    assert offline.stdout == loaded.stdout
    assert len(server.requests) == asked
    assert "hub-token" not in loaded.stderr + offline.stderr
    assert re.search("ServiceError .*with HF_HUB_OFFLINE it must be in the cache", offline.stderr, re.S)
