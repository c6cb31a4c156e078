"""What chat logs of real applications look like: several models, nested calls, cut texts, refusals, tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.apps.importers.test_importers import conversations, imported, rows
from tests.cli.test_commands import trustgauge
from trustgauge.apps.importers.conversations import LoggedCall, Said
from trustgauge.apps.importers.importer import ImportOptions
from trustgauge.errors import PlanError

Facts = Mapping[str, Any]
CHAT = {"gen_ai.operation.name": "chat"}
CUT = '[{"role": "assistant", "parts": [{"type": "text", "content": "A long answer about parc'


def listed(facts: Facts) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in facts.items()]


def asked(question: str, answer: str | None, **more: str) -> dict[str, str]:
    """Attributes of a call; underscores of their names stand for points."""
    found = {"gen_ai.operation.name": "chat"}
    found["gen_ai.input.messages"] = json.dumps(
        [{"role": "user", "parts": [{"type": "text", "content": question}]}]
    )
    if answer is not None:
        parts = [{"type": "text", "content": answer}]
        found["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": parts}])
    return found | {f"gen_ai.request.{key}": value for key, value in more.items()}


def span(number: int, facts: Facts, **more: Any) -> dict[str, Any]:
    started = str(1_790_000_000_000_000_000 + number * 10**9)
    ids = {"traceId": f"t{number}", "spanId": f"s{number}", "startTimeUnixNano": started}
    return {**ids, "attributes": listed(facts), **more}


def otlp(spans: Sequence[Facts], service: str = "") -> dict[str, Any]:
    resource = {"attributes": listed({"service.name": service} if service else {})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def read(form: str, log: Any, folder: Path, **options: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """What `import.json` says of a log, and who said what; "–" is a missing answer."""
    file = folder / "log.jsonl"
    file.write_text(json.dumps(log), "utf-8")
    document = imported(form, file, folder / "out", ImportOptions(**options))
    found = rows(folder / "out" / "dialogs.jsonl")
    return document, [(row["speaker"], "–" if row["status"] else row["text"]) for row in found]


def answers(said: Sequence[tuple[str, str]]) -> list[str]:
    return [text for who, text in said if who == "bot"]


def two_services() -> list[dict[str, Any]]:
    return [
        otlp([span(n, asked(f"q{n}", f"{name} {n}", model=f"{name}-bot")) for n in places], f"{name}-service")
        for name, places in (("good", (0, 2, 4)), ("bad", (1, 3)))
    ]


def test_a_log_of_two_models_and_services_says_so(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, two_services())), "utf-8")
    out = trustgauge("import", "otlp", "log.jsonl", "-o", "out", folder=tmp_path).stdout
    assert "calls of 2 models: good-bot (3), bad-bot (2); they are read as one service." in out
    assert "--model NAME reads one alone" in out
    assert "calls of 2 services: good-service (3), bad-service (2); they are read as one service." in out
    document = json.loads((tmp_path / "out" / "import.json").read_text("utf-8"))
    assert document["models"] == {"good-bot": 3, "bad-bot": 2}
    for option, name in (("--model", "bad-bot"), ("--service", "bad-service")):
        out = trustgauge("import", "otlp", "log.jsonl", "-o", "out", option, name, folder=tmp_path).stdout
        assert "2 calls: 2 conversations, 2 answers" in out
        assert "left out 3 calls of other models or services" in out
        assert "they are read as one service" not in out
        said = [row["text"] for row in rows(tmp_path / "out" / "dialogs.jsonl") if row["speaker"] == "bot"]
        assert said == ["bad 1", "bad 3"]


def test_what_a_model_thought_is_no_answer(tmp_path: Path) -> None:
    talk = [
        *({"role": "user", "content": "Hi"}, {"role": "assistant", "content": "<think>Who?</think>Ho"}),
        *({"role": "user", "content": "<think>"}, {"role": "assistant", "content": "Hm.</think>\n\nYes."}),
    ]
    _, said = read("openai-jsonl", {"messages": talk}, tmp_path)
    assert said == [("user", "Hi"), ("bot", "Ho"), ("user", "<think>"), ("bot", "Yes.")]


def test_a_model_that_a_log_does_not_name_is_refused(tmp_path: Path) -> None:
    log = otlp([span(1, asked("q", "a", model="stub"))])
    with pytest.raises(PlanError, match=r"--model: no call of this model.*one of: stub"):
        read("otlp", log, tmp_path, only={"model": "other"})
    with pytest.raises(PlanError, match="since the log names no service"):
        read("otlp", log, tmp_path, only={"service": "other"})
    (tmp_path / "t.csv").write_text("item,value\n1,1\n", "utf-8")
    refused = trustgauge("import", "csv", "t.csv", "--model", "stub", folder=tmp_path)
    assert refused.returncode == 2
    assert "csv is no chat log" in refused.stderr


SPOKEN = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
NAMED: dict[str, Callable[[str], dict[str, Any]]] = {
    "openai-jsonl": lambda model: {"messages": SPOKEN, "model": model},
    "langfuse": lambda model: {"input": "Hi", "output": "Ho", "model": model},
    "langfuse blob": lambda model: {"input": "Hi", "output": "Ho", "provided_model_name": model},
    "phoenix": lambda model: {
        "span_kind": "LLM",
        "attributes": {"input.value": "Hi", "output.value": "Ho", "llm.model_name": model},
    },
    "phoenix failed": lambda model: {
        "span_kind": "LLM",
        "attributes": {
            "input.value": "Hi",
            "output.value": "Ho",
            "llm.invocation_parameters": json.dumps({"model": model}),
        },
    },
}


@pytest.mark.parametrize("form", NAMED)
def test_every_log_tells_the_model_of_a_call(form: str, tmp_path: Path) -> None:
    lines = [json.dumps(NAMED[form](model)) for model in ("a", "b", "a")]
    (tmp_path / "log.jsonl").write_text("\n".join(lines), "utf-8")
    document = imported(form.split()[0], tmp_path / "log.jsonl", tmp_path / "out")
    assert document["models"] == {"a": 2, "b": 1}


def test_a_resource_that_comes_after_its_spans_names_no_other_spans(tmp_path: Path) -> None:
    late = otlp([span(2, asked("q2", "a2"))], "late")["resourceSpans"][0]
    late["resource"] = late.pop("resource")
    log = {"resourceSpans": [*otlp([span(1, asked("q1", "a1"))], "first")["resourceSpans"], late]}
    document, _ = read("otlp", log, tmp_path)
    assert document["services"] == {"first": 1, "": 1}


def test_calls_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    silent = [span(n, CHAT) for n in (2, 3)]
    only_reply = span(4, {key: cell for key, cell in asked("q", "a").items() if "input" not in key})
    others = [  # are no calls of a model
        span(5, {"http.request.method": "GET"}),
        span(6, {"llm.request.type": "embedding"}),
        span(7, {"traceloop.span.kind": "workflow", "gen_ai.agent.name": "desk"}),
    ]
    log = otlp([span(1, asked("q", "a")), *silent, only_reply, *others])
    (tmp_path / "log.jsonl").write_text(json.dumps(log), "utf-8")
    out = trustgauge("import", "otlp", "log.jsonl", "-o", "out", folder=tmp_path).stdout
    assert "1 call: 1 conversation, 1 answer" in out
    assert "left out 3 calls whose messages cannot be read" in out
    counts = json.loads((tmp_path / "out" / "import.json").read_text("utf-8"))["counts"]
    assert counts["unreadable"] == 3


@pytest.mark.parametrize("form", ["langfuse", "phoenix"])
def test_calls_of_other_logs_that_cannot_be_read_are_counted(form: str, tmp_path: Path) -> None:
    sides = [("Hi", "Ho"), ({"a": "x", "b": "y"}, "z"), (None, "z")]
    if form == "langfuse":
        log = [
            {"id": str(n), "type": "GENERATION", "input": a, "output": b} for n, (a, b) in enumerate(sides)
        ]
    else:
        log = [
            {
                "span_kind": "LLM",
                "attributes": {"input.value": json.dumps(a) if a else None, "output.value": b},
            }
            for a, b in sides
        ]
    document, said = read(form, log, tmp_path)
    assert document["counts"]["unreadable"] == 2
    assert answers(said) == ["Ho"]
    with pytest.raises(PlanError, match="2 calls have messages that cannot be read"):
        read(form, log[1:], tmp_path)


@pytest.mark.parametrize("form", ["langfuse", "phoenix"])
def test_objects_of_applications_are_read_by_their_usual_keys(form: str, tmp_path: Path) -> None:
    sides: list[tuple[Any, Any]] = [
        ({"question": "Why?", "user": "u1"}, {"answer": "So.", "source": "page 1"}),
        ({"query": "When?", "user": "u1", "top": 3}, {"text": "Now.", "tone": "kind"}),
        ({"question": "Who?"}, {"left": "x", "right": "y"}),  # nobody knows which is the answer
    ]
    if form == "langfuse":
        log = [{"type": "GENERATION", "input": sent, "output": came} for sent, came in sides]
    else:
        log = [
            {
                "span_kind": "LLM",
                "attributes": {"input.value": json.dumps(sent), "output.value": json.dumps(came)},
            }
            for sent, came in sides
        ]
    document, said = read(form, log, tmp_path)
    assert said == [
        ("user", "Why?"),
        ("bot", "So."),
        ("user", "When?"),
        ("bot", "Now."),
        ("user", "Who?"),
        ("bot", "–"),
    ]
    assert (document["counts"]["missing"], document["counts"]["cut"]) == (1, 1)


def test_a_reply_that_was_cut_off_is_missing_and_not_the_words_of_the_bot(tmp_path: Path) -> None:
    log = otlp(
        [
            span(1, asked("q1", "a1")),
            span(2, asked("q2", None) | {"gen_ai.output.messages": f" {CUT}"}),
            span(3, asked("q3", "a3") | {"gen_ai.input.messages": CUT}),
            span(
                4, CHAT | {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": '[{"type": "text", "te'}
            ),
        ]
    )
    (tmp_path / "log.jsonl").write_text(json.dumps(log), "utf-8")
    out = trustgauge("import", "otlp", "log.jsonl", "-o", "out", folder=tmp_path).stdout
    assert "1 reply cut off or in no form that can be read; counted as missing" in out
    document, said = read("otlp", log, tmp_path)
    assert said == [("user", "q1"), ("bot", "a1"), ("user", "q2"), ("bot", "–")]
    assert [document["counts"][name] for name in ("missing", "cut", "unreadable")] == [1, 1, 2]
    with pytest.raises(PlanError, match="raise the limit on the length of attributes"):
        read("otlp", otlp([span(2, asked("q2", None) | {"gen_ai.output.messages": CUT})]), tmp_path)


def test_parts_in_numbered_messages_are_read(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "http://x"}}
    sent = [{"type": "text", "text": "What is this?"}, picture]
    options = '[{"type": "button", "label": "Yes"}]'  # a bot that answers in JSON of its own
    facts = {"gen_ai.prompt.0.role": "user", "gen_ai.completion.0.role": "assistant"}
    log = otlp(
        [
            span(
                1,
                facts | {"gen_ai.prompt.0.content": json.dumps(sent), "gen_ai.completion.0.content": "A cat"},
            ),
            span(2, facts | {"gen_ai.prompt.0.content": "Sure?", "gen_ai.completion.0.content": options}),
        ]
    )
    _, said = read("otlp", log, tmp_path)
    assert said == [("user", "What is this?"), ("bot", "A cat"), ("user", "Sure?"), ("bot", options)]


def nested(form: str) -> Any:
    """A gateway's call around the call of a model, and a call that another made with words of its own."""
    if form == "otlp":
        outer = [span(1, asked("q", "a")), span(3, asked("r", "b"))]
        inner = [span(2, asked("q", "a")), span(4, asked("other", "c"))]
        for one, parent in zip(inner, outer, strict=True):
            one |= {"traceId": parent["traceId"], "parentSpanId": parent["spanId"]}
        return otlp([inner[0], outer[0], *outer[1:], *inner[1:]])
    ways = [("1", None, "q", "a"), ("2", "1", "q", "a"), ("3", None, "r", "b"), ("4", "3", "other", "c")]
    if form == "langfuse":
        return [
            {"id": own, "traceId": "t", "parentObservationId": parent, "type": "GENERATION"}
            | {"input": sent, "output": came, "startTime": f"2026-11-23T00:00:0{own}Z"}
            for own, parent, sent, came in ways
        ]
    return [
        {"context": {"trace_id": "t", "span_id": own}, "parent_id": parent, "span_kind": "LLM"}
        | {"attributes": {"input.value": sent, "output.value": came}, "start_time": own}
        for own, parent, sent, came in ways
    ]


@pytest.mark.parametrize("form", ["otlp", "langfuse", "phoenix"])
def test_a_call_that_contains_the_same_call_counts_once(form: str, tmp_path: Path) -> None:
    document, said = read(form, nested(form), tmp_path)
    assert document["counts"]["nested"] == 1
    assert answers(said) == ["a", "b", "c"]


def test_of_a_call_and_one_within_it_that_with_a_reply_is_kept(tmp_path: Path) -> None:
    first: list[Said] = [("user", "Hello")]
    calls = [
        LoggedCall(first, "Hi", started="1", id="outer"),
        LoggedCall(first, None, started="2", id="inner", parent="outer"),
    ]
    said, log = conversations(calls, tmp_path)
    assert said == [["Hello", "Hi"]]
    assert (log.counts["nested"], log.counts["missing"]) == (1, 0)


def events(question: str, answer: str, way: str) -> list[dict[str, Any]]:
    """Content as events, in the ways of the conventions and of those who followed them."""
    if way == "details":
        name = "gen_ai.client.inference.operation.details"
        return [{"name": name, "attributes": listed(asked(question, answer))}]
    message: Any = {"content": answer}
    sent = {"gen_ai.system.message": "Be kind.", "gen_ai.user.message": question}
    if way == "body":
        facts = {
            **{name: {"gen_ai.event.content": json.dumps({"content": text})} for name, text in sent.items()},
            "gen_ai.choice": {"gen_ai.event.content": json.dumps({"index": 0, "message": message})},
        }
    elif way == "blocks":
        facts = {
            **{name: {"content": json.dumps([{"text": text}])} for name, text in sent.items()},
            "gen_ai.choice": {"message": json.dumps([{"text": answer}]), "finish_reason": "end_turn"},
        }
    else:
        facts = {
            **{name: {"content": text} for name, text in sent.items()},
            "gen_ai.choice": {"index": "0", "message": json.dumps(message)},
        }
    return [{"name": name, "attributes": listed(one)} for name, one in facts.items()]


@pytest.mark.parametrize("way", ["details", "messages", "body", "blocks"])
def test_content_that_is_recorded_as_events_is_read(way: str, tmp_path: Path) -> None:
    log = otlp([span(n, CHAT, events=events(f"q{n}", f"a{n}", way)) for n in range(2)])
    _, said = read("otlp", log, tmp_path)
    assert said == [("user", "q0"), ("bot", "a0"), ("user", "q1"), ("bot", "a1")]


def test_events_of_a_conversation_keep_what_the_bot_said_before(tmp_path: Path) -> None:
    first = events("q0", "a0", "messages")
    earlier = {"name": "gen_ai.assistant.message", "attributes": listed({"content": "a0"})}
    second = [*first[:2], earlier, *events("q1", "a1", "messages")[1:]]
    log = otlp([span(0, CHAT, events=first), span(1, CHAT, events=second)])
    document, said = read("otlp", log, tmp_path)
    assert said == [("user", "q0"), ("bot", "a0"), ("user", "q1"), ("bot", "a1")]
    assert document["counts"]["dialogs"] == 1


def test_a_refusal_is_an_answer(tmp_path: Path) -> None:
    user = {"role": "user", "content": "Insult me."}
    part = [{"type": "refusal", "refusal": "I won't."}]
    replies: list[dict[str, Any]] = [
        {"content": None, "refusal": "I'm sorry."},
        {"content": part},
        {"content": "OK", "refusal": None},
    ]
    lines = [json.dumps({"messages": [user, {"role": "assistant", **reply}]}) for reply in replies]
    (tmp_path / "log.jsonl").write_text("\n".join(lines), "utf-8")
    document = imported("openai-jsonl", tmp_path / "log.jsonl", tmp_path / "out")
    said = [row["text"] for row in rows(tmp_path / "out" / "dialogs.jsonl") if row["speaker"] == "bot"]
    assert said == ["I'm sorry.", "I won't.", "OK"]
    assert document["counts"]["missing"] == 0


SHARED = [
    {"from": "system", "value": "Be kind."},
    {"from": "human", "value": "Hi"},
    {"from": "gpt", "value": "Ho"},
    {"from": "human", "value": "Why?"},
    {"from": "chatgpt", "value": "So."},
]


@pytest.mark.parametrize("written", ["lines", "list"])
def test_conversations_of_share_gpt_are_those_of_openai(written: str, tmp_path: Path) -> None:
    roles = {"system": "system", "human": "user"}
    messages = [{"role": roles.get(one["from"], "assistant"), "content": one["value"]} for one in SHARED]
    said = {}
    for name, field, turns in (("shared", "conversations", SHARED), ("openai", "messages", messages)):
        records = [json.dumps({"id": str(place), field: turns}) for place in range(3)]
        text = "\n".join(records) if written == "lines" else f"[{', '.join(records)}]"
        (tmp_path / name).write_text(text, "utf-8")
        document = imported("openai-jsonl", tmp_path / name, tmp_path / f"{name}-out")
        assert document["counts"]["missing"] == 0
        said[name] = rows(tmp_path / f"{name}-out" / "dialogs.jsonl")
    assert said["shared"] == said["openai"]
    assert [row["text"] for row in said["shared"][:4]] == ["Hi", "Ho", "Why?", "So."]


@pytest.mark.parametrize("record", ['{"conversations": "Hi"}', "[1]", '{"turns": []}', '["a"]'])
def test_a_record_without_messages_is_refused(record: str, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(record, "utf-8")
    with pytest.raises(PlanError, match=r"record 1 has no messages.*of ShareGPT"):
        imported("openai-jsonl", tmp_path / "log.jsonl", tmp_path / "out")


HELLO: list[Said] = [("user", "Hello")]


@pytest.mark.parametrize(
    ("first", "second", "missing"),
    [
        ({"trace": "a"}, {"trace": "a"}, 0),
        ({"trace": "a"}, {"trace": "b"}, 1),
        ({"trace": "a"}, {}, 1),
        ({"conversation": "c", "trace": "a"}, {"conversation": "c", "trace": "b"}, 0),
        ({"started": "2026-11-23T10:00:00Z"}, {"started": "2026-11-23T10:04:00+00:00"}, 0),
        ({"started": "2026-11-23T10:00:00Z"}, {"started": "2026-11-23T10:06:00Z"}, 1),
        ({"started": "1790000000000000000"}, {"started": "1790000240000000000"}, 0),
        ({"started": "1790000000000000000"}, {"started": "1790000360000000000"}, 1),
        ({"started": "yesterday"}, {"started": "yesterday"}, 1),
        ({}, {}, 1),
    ],
)
def test_a_failed_call_is_made_again_only_where_it_belongs(
    first: dict[str, str], second: dict[str, str], missing: int, tmp_path: Path
) -> None:
    calls = [LoggedCall(HELLO, None, **first), LoggedCall(HELLO, "Hi", **second)]  # type: ignore[arg-type]
    said, log = conversations(calls, tmp_path)
    assert log.counts["missing"] == missing
    assert said == ([["Hello", "–"], ["Hello", "Hi"]] if missing else [["Hello", "Hi"]])


def test_a_call_of_a_tool_is_no_missing_answer(tmp_path: Path) -> None:
    """The next call has a trace of its own where only the library of the model is watched."""
    call = [{"role": "assistant", "parts": [{"type": "tool_call", "name": "weather", "arguments": {}}]}]
    log = otlp(
        [
            span(1, asked("Cold?", None) | {"gen_ai.output.messages": json.dumps(call)}),
            span(2, asked("Cold?", "3 degrees")),
        ]
    )
    document, said = read("otlp", log, tmp_path)
    assert said == [("user", "Cold?"), ("bot", "3 degrees")]
    assert document["counts"]["missing"] == 0


@pytest.mark.parametrize("ids", [["o1", "o2"], []])
@pytest.mark.parametrize("page", [True, False])
def test_traces_that_name_their_observations_are_read_themselves(
    ids: list[str], page: bool, tmp_path: Path
) -> None:
    traces = [
        {"id": f"t{n}", "sessionId": f"s{n}", "input": f"q{n}", "output": f"a{n}", "observations": ids}
        for n in range(2)
    ]
    _, said = read("langfuse", {"data": traces, "meta": {"page": 1}} if page else traces, tmp_path)
    assert said == [("user", "q0"), ("bot", "a0"), ("user", "q1"), ("bot", "a1")]


def test_observations_within_a_trace_are_read_in_its_place(tmp_path: Path) -> None:
    inner = {"id": "o", "type": "GENERATION", "input": "q", "output": "a"}
    trace = {"id": "t", "sessionId": "s", "input": "x", "output": "y", "observations": [inner]}
    for log in ([trace], {"data": [trace]}):
        _, said = read("langfuse", log, tmp_path)
        assert said == [("user", "q"), ("bot", "a")]
        assert {row["source"] for row in rows(tmp_path / "out" / "dialogs.jsonl")} == {"s"}
