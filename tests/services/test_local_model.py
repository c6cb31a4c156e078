"""Local language models, on a small real one: its answers, draws, sessions, faults in words."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.services import tiny_gpt
from tests.services.asking import outputs, replies_to
from trustgauge.errors import GarbledError, KeyMissingError, PlanError, RejectedError, ServiceError
from trustgauge.records import Message
from trustgauge.services.conformance import check_service
from trustgauge.services.local_model import LocalModel

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_gpt.make(tmp_path_factory.mktemp("gpt"))


def model(folder: Path, **changes: Any) -> LocalModel:
    return LocalModel.model_validate({"use": "hf-chat", "folder": folder, "max_tokens": 8, **changes})


def asked(service: LocalModel, *messages: Message) -> list[str | float]:
    return [reply.output for reply in asyncio.run(replies_to(service, messages))]


def test_it_says_what_it_learnt_one_by_one_and_in_batches(gpt: Path) -> None:
    learnt = list(tiny_gpt.ANSWERS.values())
    assert outputs(model(gpt, batch=1), *tiny_gpt.ANSWERS) == learnt
    assert outputs(model(gpt, batch=8), *tiny_gpt.ANSWERS) == learnt
    assert model(gpt, batch=1).fingerprint == model(gpt, batch=8).fingerprint


def test_greedy_answers_are_those_of_the_library(gpt: Path) -> None:
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(gpt)
    library: Any = transformers.AutoModelForCausalLM.from_pretrained(gpt)
    for text in ("are women lazy ?", "poor men", "women women hello"):
        given = tokenizer(f"<user> {text} <assistant>", return_tensors="pt")
        with torch.inference_mode():
            result = library.eval().generate(**given, max_new_tokens=8, do_sample=False, pad_token_id=0)
        expected = str(tokenizer.decode(result[0][given["input_ids"].shape[1] :], skip_special_tokens=True))
        assert outputs(model(gpt, cut="keep"), text) == [expected.strip()]


def test_it_keeps_the_protocol(gpt: Path) -> None:
    messages = [Message(text) for text in tiny_gpt.ANSWERS]
    check_service(model(gpt, batch=3), messages)
    check_service(model(gpt, batch=3, temperature=1.0, cut="keep"), messages)
    assert model(gpt).task == "chat"
    assert model(gpt).deterministic
    assert not model(gpt, temperature=0.5).deterministic


def test_drawn_answers_depend_on_message_and_draw_only(gpt: Path) -> None:
    service = model(gpt, temperature=4.0, cut="keep")
    messages = [Message("are women lazy ?", draw) for draw in range(12)]
    drawn = asked(service, *messages)
    assert len(set(drawn)) > 3
    assert asked(model(gpt, temperature=4.0, cut="keep", batch=1), *reversed(messages)) == drawn[::-1]
    assert asked(model(gpt, temperature=4.0, cut="keep", seed=1), *messages) != drawn


def test_what_was_said_before_matters(gpt: Path) -> None:
    (hello, said), (text, after) = tiny_gpt.SESSION
    session = Message(text, session="s", user="u", turns=((hello, said),), script=(hello, text))
    assert asked(model(gpt), session, Message(text)) == [after, tiny_gpt.ANSWERS[text]]


def test_tokens_of_question_and_answer_are_counted(gpt: Path) -> None:
    (reply,) = asyncio.run(replies_to(model(gpt), [Message("are women lazy ?")]))
    assert (reply.output, reply.tokens) == ("yes .", 6 + 3)  # with the marks of the turns and the end


def test_a_model_without_a_template_goes_on_from_the_words(tmp_path: Path) -> None:
    plain = tiny_gpt.make(tmp_path / "plain", template=False)
    assert outputs(model(plain), "are women lazy ?", "hello") == ["yes .", "hello ."]
    assert isinstance(outputs(model(plain, cut="keep"), "")[0], str)


def test_an_answer_that_does_not_end_is_marked_lost_or_taken_as_whole(gpt: Path) -> None:
    assert outputs(model(gpt, max_tokens=1), "hello") == ["hello"]
    with pytest.raises(GarbledError, match=r"cut short.*had not ended after 1 tokens") as caught:
        outputs(model(gpt, max_tokens=1, cut="unreadable"), "hello")
    assert not caught.value.retry
    assert outputs(model(gpt, max_tokens=1, cut="keep"), "hello") == ["hello"]


def test_too_long_a_session_is_rejected(gpt: Path) -> None:
    with pytest.raises(RejectedError, match=f"at most {tiny_gpt.WINDOW - 8} tokens"):
        outputs(model(gpt), "hello " * tiny_gpt.WINDOW)
    with pytest.raises(ServiceError, match="no room left"):
        model(gpt, max_tokens=tiny_gpt.WINDOW).open()


def test_the_fingerprint_covers_the_model_and_how_it_is_talked_to(gpt: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(gpt, copy)
    first = model(gpt)
    assert model(copy).fingerprint == first.fingerprint
    for changes in ({"temperature": 0.5}, {"system": "Be kind."}, {"seed": 1}, {"chat": "no"}):
        assert model(gpt, **changes).fingerprint != first.fingerprint
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "activation_function": "relu"}))
    assert model(copy).fingerprint != first.fingerprint


def test_faults_are_told(gpt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlanError, match="does not contain a model"):
        model(tmp_path).check_requirements()
    with pytest.raises(ValidationError, match="commit of 40 hex digits"):
        LocalModel(model="someone/some-model", revision="main")
    monkeypatch.delenv("TG_HUB_TOKEN", raising=False)
    with pytest.raises(KeyMissingError, match="TG_HUB_TOKEN is not set"):
        LocalModel(model="a/b", revision=COMMIT, key="TG_HUB_TOKEN").check_requirements()
    spoilt = tmp_path / "spoilt"
    shutil.copytree(gpt, spoilt)
    (spoilt / "model.safetensors").write_text("torn")
    with pytest.raises(ServiceError, match=r"cannot be loaded\. Must be a causal language model"):
        model(spoilt).open()
    with pytest.raises(ServiceError, match='the device "nowhere" cannot be used'):
        model(gpt, device="nowhere").open()


def test_a_model_without_all_its_weights_is_refused(gpt: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    copy = tmp_path / "copy"
    shutil.copytree(gpt, copy)
    weights = load_file(copy / "model.safetensors")
    del weights["transformer.h.0.attn.c_attn.weight"]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ServiceError, match="not trained to write"):
        model(copy).open()


def test_the_short_form() -> None:
    named = LocalModel.named(f"someone/some-model@{COMMIT}")
    assert (named.model, named.revision, named.provider) == ("someone/some-model", COMMIT, "someone")
    assert LocalModel.named("./mine").folder == Path("mine").absolute()
    with pytest.raises(ValueError, match="OWNER/NAME@COMMIT"):
        LocalModel.named("someone/some-model")
