"""What chat services will cost is estimated from characters, and said to be a guess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trustgauge.records import Message
from trustgauge.reports.terminal import PlanFacts
from trustgauge.reports.terminal import plan as plan_lines
from trustgauge.run import cost as tokens
from trustgauge.run.cost import Pending, estimate
from trustgauge.run.targets import Target
from trustgauge.services import FRAME, ServiceSpec, tokens_of
from trustgauge.services.chat import OpenAi
from trustgauge.services.controls.translators import TranslatorControl
from trustgauge.services.history import WithHistory
from trustgauge.services.http import Http
from trustgauge.services.llama_cpp import LlamaCpp
from trustgauge.services.prompted import ChatScorer
from trustgauge.services.translate import DeepL, LibreTranslate, Yandex

REMOTE = "https://chat.example/v1"
PRICED = {"usd_per_million_input_tokens": 2.0, "usd_per_million_output_tokens": 8.0}


def chat(**settings: Any) -> OpenAi:
    return OpenAi.model_validate({"model": "m", "url": REMOTE, **settings})


def row(leg: ServiceSpec, *units: tuple[Message, ...]) -> Pending:
    subject = Target(0, "mine", "", "chat", leg.fingerprint, leg.deterministic, None, leg)
    return Pending(subject, units, sum(map(len, units)), 0)


def session(*said: str) -> tuple[Message, ...]:
    return tuple(Message(text, session="s", script=said, turn=turn) for turn, text in enumerate(said))


def test_a_language_model_on_this_machine_is_not_announced_as_quick(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").touch()
    model = LlamaCpp.model_validate({"use": "llama-cpp", "file": tmp_path / "model.gguf"})
    table = {"use": "llama-cpp", "file": str(tmp_path / "model.gguf")}
    asked = ChatScorer.model_validate({"service": table})
    legs = (model, asked, TranslatorControl())
    waits = [estimate([row(leg, *[(Message("Hello?"),)] * 1_000)]) for leg in legs]
    assert waits[0].seconds > 300 > 30 > waits[2].seconds
    assert waits[1].seconds == waits[0].seconds
    assert waits[0].untimed == ("mine",)


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("女人很穷", 4), ("are 女人 ok", 4)]
)
def test_four_ascii_characters_are_a_token_and_each_other_one_is(text: str, count: int) -> None:
    assert tokens_of(text) == count


def test_single_messages_are_read_once_and_answered_once() -> None:
    counted = tokens.expected_tokens(chat(), [(Message("abcd"),), (Message("abcdefgh"),)])
    assert counted == tokens.TokenCount(1 + 2 + 2 * FRAME, 2 * tokens.ANSWER)


def test_an_answer_that_is_cut_short_is_not_counted_further() -> None:
    assert tokens.expected_tokens(chat(max_tokens=20), [(Message("abcd"),)]).written == 20
    assert tokens.expected_tokens(chat(max_tokens=5000), [(Message("abcd"),)]).written == tokens.ANSWER


def test_a_prompt_around_the_text_is_read_with_it_and_limits_are_those_of_the_model() -> None:
    table = {"use": "openai", "model": "m", "url": REMOTE, "max_tokens": 20, "system": "abcdefgh"}
    wrapped = ChatScorer.model_validate({"service": table, "prompt": "abcd{text}efgh"})
    counted = tokens.expected_tokens(wrapped, [(Message("abcd"),)])
    assert counted == tokens.TokenCount(2 + 2 + 1 + 2 * FRAME, 20)


def test_a_system_prompt_is_read_with_every_message() -> None:
    plain, result = (
        tokens.expected_tokens(one, [(Message("hi"),)] * 3) for one in (chat(), chat(system="abcdefgh"))
    )
    assert result.read - plain.read == 3 * (2 + FRAME)


def test_what_was_said_before_is_read_again_and_other_conversations_are_not() -> None:
    one = tokens.expected_tokens(chat(), [session("abcd", "abcd")])
    alone = tokens.expected_tokens(chat(), [session("abcd"), session("abcd")])
    assert one.written == alone.written
    assert one.read - alone.read == 1 + FRAME + tokens.ANSWER + FRAME
    cast = (("ann", "1"), ("bob", "2"))
    apart = tuple(
        Message("abcd", session="s", script=("abcd", "abcd"), turn=turn, cast=cast, user=cast[turn][0])
        for turn in range(2)
    )
    assert tokens.expected_tokens(chat(), [apart]) == alone


def test_a_history_is_read_too() -> None:
    behind = WithHistory.model_validate(
        {"use": "with-history", "service": chat().model_dump(), "turns": [["abcd", "abcd"]]}
    )
    more = (
        tokens.expected_tokens(behind, [(Message("hi"),)]).read
        - tokens.expected_tokens(chat(), [(Message("hi"),)]).read
    )
    assert more == 2 + 2 * FRAME


def test_the_estimate_adds_up_what_tokens_cost() -> None:
    leg = chat(**PRICED)
    made = estimate([row(leg, (Message("abcd"),))])
    read, written = 1 + FRAME, tokens.ANSWER
    assert made.tokens == read + written
    assert made.usd == pytest.approx((read * 2.0 + written * 8.0) / 1e6)
    assert made.unpriced == ()
    assert made.over({"usd": made.usd / 2}) == ["$0.0012, more than the limit $0.0006"]
    assert made.over({"tokens": made.tokens - 1})[0].startswith("about 155 tokens")
    assert not made.over({"tokens": made.tokens, "usd": made.usd})


def test_a_price_that_nobody_told_is_not_called_free() -> None:
    assert estimate([row(chat(), (Message("hi"),))]).unpriced == ("mine",)
    for free in (chat(key=""), chat(url="http://127.0.0.1:8000/v1"), TranslatorControl(behaviour="identity")):
        assert estimate([row(free, (Message("hi"),))]).unpriced == ()
    assert estimate([row(chat())]).unpriced == ()  # nothing is asked of it


def test_translators_and_apis_with_a_key_are_not_called_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIBRETRANSLATE_API_KEY", raising=False)
    asked = (Message("hi"),)
    api = {"url": "https://api.example/v1", "key": "MY_KEY", "headers": {"Authorization": "{key}"}}
    hosted = LibreTranslate(target="es", url="https://translate.example")
    for paid in (Yandex(target="tr"), Http.model_validate(api)):
        assert estimate([row(paid, asked)]).unpriced == ("mine",)
    priced = (Yandex(target="tr", usd_per_million_characters=5.0), DeepL(target="de"))
    local = Http.model_validate({**api, "url": "http://localhost:5000"})
    for one in (*priced, local, hosted, Http(url="https://api.example/v1")):
        assert estimate([row(one, asked)]).unpriced == ()
    monkeypatch.setenv("LIBRETRANSLATE_API_KEY", "some-key-of-mine")
    assert estimate([row(hosted, asked)]).unpriced == ("mine",)


def said(**known: Any) -> str:
    facts = {"services": ["mine"], "method": "social-bias", "attribute": "gender", "blocks": 1}
    whole = {**facts, "texts": 1, "rule": "sound", "calls": 1, "kept": 0, "seconds": 1.0, "usd": 0.0, **known}
    return "\n".join("".join(part for part, _ in line) for line in plan_lines([PlanFacts(**whole)]))


def test_the_plan_line_says_what_is_guessed_and_what_is_not_known() -> None:
    assert said().endswith("free")
    assert said(tokens=900).endswith("free")  # a service of one's own counts them and costs nothing
    assert said(usd=1.5).endswith("$1.50")
    assert said(usd=1.5, tokens=900_000).endswith(
        "about $1.50 (about 900,000 tokens, estimated from characters)"
    )
    assert said(unpriced=["mine"]).endswith("price of mine not in the plan")
    assert "free" not in said(unpriced=["mine"])
    assert said(unpriced=["mine"], limit_usd=1.0).endswith("limit $1.00, which does not hold for mine")
    assert said(usd=0.5, limit_usd=1.0).endswith("limit $1.00")
