"""What other tools wrote, read: whole, in order, and with what is missing told as missing."""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import trustgauge
from trustgauge import plugins
from trustgauge.apps.importers.conversations import Conversations, LoggedCall, Said
from trustgauge.apps.importers.importer import ImportOptions, import_file
from trustgauge.apps.importers.json_stream import EVERY, elements
from trustgauge.data.results import read_results
from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.run import run
from trustgauge.run.options import RunOptions

FILES = Path(__file__).parent / "files"
CHATS = {
    "otlp": "otlp.jsonl",
    "phoenix": "phoenix-spans.jsonl",
    "phoenix ": "phoenix-dataframe.jsonl",
    "langfuse": "langfuse.json",
}


ODD = '{"source": {"format": "otlp", "file": "otlp.jsonl"}, "plan": 5, "plan_content": "x"}'


def imported(form: str, file: Path, folder: Path, options: ImportOptions | None = None) -> dict[str, Any]:
    importer = plugins.load("importers", form)
    return import_file(importer, form, file, folder, options or ImportOptions())


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_an_import_replaces_nothing_but_an_earlier_one_of_the_same_file(tmp_path: Path) -> None:
    file, folder = FILES / CHATS["otlp"], tmp_path / "chat"
    assert imported("otlp", file, folder) == imported("otlp", file, folder)
    plan = folder / "trustgauge.toml"
    plan.write_text(f"{plan.read_text('utf-8')}\n# mine\n", "utf-8")
    with pytest.raises(PlanError, match=r"holds a plan that was edited \(trustgauge\.toml\)"):
        imported("otlp", file, folder)
    with pytest.raises(PlanError, match=r"holds the import of otlp\.jsonl"):
        imported("langfuse", FILES / CHATS["langfuse"], folder)
    other = tmp_path / "other"
    other.mkdir()
    (other / "results.jsonl").write_text("mine", "utf-8")
    with pytest.raises(PlanError, match="exists and holds no import"):
        imported("otlp", file, other)
    for text in ("", "[" * 100_000, "[]", '{"source": 1}', ODD, "\x00"):
        strange = tmp_path / "strange"
        strange.mkdir(exist_ok=True)
        (strange / "import.json").write_text(text, "utf-8")
        with pytest.raises(PlanError, match="exists and holds no import"):
            imported("otlp", file, strange)
    assert "# mine" in plan.read_text("utf-8")
    assert [one.name for one in other.iterdir()] == ["results.jsonl"]
    import_file(plugins.load("importers", "otlp"), "otlp", file, folder, ImportOptions(), force=True)
    assert "# mine" not in plan.read_text("utf-8")


def test_a_failed_import_leaves_everything_as_it_was(tmp_path: Path) -> None:
    table, folder = tmp_path / "s.csv", tmp_path / "base"
    table.write_text("item,value\na,1\nb,1\n", "utf-8")
    imported("csv", table, folder)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    table.write_text("item,value\na,0\nb,0\n", "utf-8")
    with pytest.raises(PlanError, match="no metric scoer"):
        imported("csv", table, folder, ImportOptions(lower=["scoer"]))
    log, chat = tmp_path / "log.json", tmp_path / "chat"
    log.write_text('{"resourceSpans": []}', "utf-8")
    with pytest.raises(PlanError):
        imported("otlp", log, chat)
    assert not chat.exists()
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    (folder / ".part").mkdir()
    (folder / ".part" / "results.jsonl").write_text("of an import that was killed", "utf-8")
    imported("csv", table, folder)
    assert {file.name for file in folder.iterdir()} == set(before)
    assert [row["value"] for row in rows(folder / "results.jsonl")] == [0, 0]


def test_an_import_that_was_killed_at_its_end_is_made_again_by_the_same_command(tmp_path: Path) -> None:
    """Its description is the last file that takes its place."""
    table, folder = tmp_path / "s.csv", tmp_path / "base"
    table.write_text("item,value\na,1\nb,1\n", "utf-8")
    result = imported("csv", table, folder)
    (folder / ".part").mkdir()
    (folder / "import.json").rename(folder / ".part" / "import.json")
    assert imported("csv", table, folder) == result
    assert sorted(file.name for file in folder.iterdir()) == ["import.json", "results.jsonl"]


def test_numbers_of_turns_and_missing_answers_are_found_without_being_named(tmp_path: Path) -> None:
    table = tmp_path / "d.csv"
    cells = ("a,bot,,2,failed", "a,bot,one,1,", "a,user,zero,1,", "a,user,two,2,")
    table.write_text("\n".join(("dialog,speaker,text,turn,status", *cells)), "utf-8")
    result = imported("dialogs", table, tmp_path / "out")
    assert result["counts"]["missing"] == 1
    said = rows(tmp_path / "out" / "1-dialogs.jsonl")
    assert [(row["speaker"], row["text"]) for row in said] == [
        ("user", "zero"), ("bot", "one"), ("user", "two"), ("bot", ""),
    ]  # fmt: skip


def test_a_log_packed_with_gzip_is_read_and_other_packages_are_named(tmp_path: Path) -> None:
    whole = (FILES / CHATS["otlp"]).read_bytes()
    packed = tmp_path / "otlp.jsonl.gz"
    packed.write_bytes(gzip.compress(whole))
    assert imported("otlp", packed, tmp_path / "a")["counts"]["calls"] == 33
    packed.write_bytes(gzip.compress(whole)[:-200])
    with pytest.raises(PlanError, match=r"otlp\.jsonl\.gz: the file cannot be read"):
        imported("otlp", packed, tmp_path / "b")
    zipped = tmp_path / "otlp.json"
    zipped.write_bytes(b"PK\x03\x04\xff\xff\xff")
    with pytest.raises(PlanError, match=r"Got a zip file\. Unpack it"):
        imported("otlp", zipped, tmp_path / "c")
    with pytest.raises(PlanError, match="Name one file, not a folder"):
        imported("otlp", tmp_path, tmp_path / "d")


def test_options_that_a_format_has_no_use_for_are_refused(tmp_path: Path) -> None:
    odd = ImportOptions({"item": "x"}, ["a"], {"a": (0, 1)})
    with pytest.raises(PlanError) as result:
        imported("otlp", FILES / CHATS["otlp"], tmp_path / "a", odd)
    assert [fault.place for fault in result.value.faults] == ["--lower", "--range", "--column"]
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("form", CHATS)
def test_four_logs_of_the_same_calls_give_the_same_conversations(form: str, tmp_path: Path) -> None:
    result = imported(form.strip(), FILES / CHATS[form], tmp_path)
    assert result["counts"] | {"redacted": 0} == {
        "calls": 33, "missing": 1, "history": 0, "dialogs": 13, "utterances": 66, "user": 33, "bot": 33,
        "redacted": 0,
    }  # fmt: skip
    said = rows(tmp_path / "dialogs.jsonl")
    assert [row["text"] for row in said if row["dialog"] == "1"] == [
        "What is your name?",
        "My name is Stub and I answer for the help desk.",
        "When are your opening hours?",
        "We are open from nine to five on weekdays.",
        "Thank you.",
        "You are welcome.",
    ]
    lost = [row for row in said if row["status"]]
    assert [(row["dialog"], row["text"], row["status"]) for row in lost] == [("13-0", "", "failed")]
    assert len({row["dialog"] for row in said}) == 13


def test_an_answer_that_is_missing_counts_as_missing_once(tmp_path: Path) -> None:
    imported("otlp", FILES / "otlp.jsonl", tmp_path)
    finished = run.rate(load_plan(tmp_path / "trustgauge.toml"), RunOptions(ratings=tmp_path / "ratings"))
    for rating in finished.document["ratings"]:
        assert {name: n for name, n in rating["coverage"].items() if n} == {
            "planned": 33, "answered": 32, "failed": 1,
        }  # fmt: skip


@pytest.mark.parametrize("by", ["import", "plan"])
def test_a_missing_answer_leaves_the_rest_of_its_conversation(by: str, tmp_path: Path) -> None:
    """The whole conversation was lost by import, and by a plan that names no `status` nothing was missing."""
    lines = []
    for dialog in range(40):
        for turn in range(3):
            lost = turn == 1 and dialog % 2 == 0
            said = "" if lost else f"It is number {dialog} of {turn}."
            lines.append(
                {"dialog": f"d{dialog}", "speaker": "user", "text": f"What is {turn}?", "status": ""}
            )
            lines.append({"dialog": f"d{dialog}", "speaker": "bot", "text": said, "status": "failed" * lost})
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    service: dict[str, Any] = {"use": "dialogs", "dialogs": {"file": str(log)}}
    experiment = {"method": "trust", "services": ["log"], "issues": ["complexity"], "profiles": ["p"]}
    plan: Any = {
        "services": {"log": service},
        "experiments": [{**experiment, "orders": {"p": ["complexity"]}}],
    }
    if by == "import":
        imported("dialogs", log, tmp_path / "out")
        (named,) = load_plan(tmp_path / "out" / "trustgauge.toml").document()["services"].values()
        service["dialogs"] = named["dialogs"]
        service["dialogs"]["file"] = str(tmp_path / "out" / "1-dialogs.jsonl")
    document = run.rate(load_plan(plan), RunOptions(ratings=tmp_path / "ratings")).document
    rating = document["ratings"][0]
    assert {name: n for name, n in rating["coverage"].items() if n} == {
        "planned": 120, "answered": 100, "failed": 20,
    }  # fmt: skip
    assert "loss-does-not-matter" in {reason["code"] for reason in rating["parts"][0]["reasons"]}


def test_the_logs_of_two_bots_are_not_one_service(tmp_path: Path) -> None:
    def service(form: str, file: Path, **options: Any) -> str:
        importer = plugins.load("importers", form)
        import_file(importer, form, file, tmp_path / "desk", ImportOptions(**options), force=True)
        (name,) = load_plan(tmp_path / "desk" / "trustgauge.toml").services
        return name

    said = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Good morning."}]
    models: dict[str, list[dict[str, str]]] = {
        "plain": [{}],
        "model": [{"model": "m1"}],
        "two": [{"model": "m1"}, {"model": "m2"}],
    }
    for name, facts in models.items():
        lines = [json.dumps({"messages": said, "id": f"c{n}", **fact}) for n, fact in enumerate(facts)]
        (tmp_path / name).write_text("\n".join(lines))
    assert service("openai-jsonl", tmp_path / "plain") == "desk"
    assert service("openai-jsonl", tmp_path / "model") == "m1"
    assert service("openai-jsonl", tmp_path / "two") == "desk"
    assert service("openai-jsonl", tmp_path / "two", only={"model": "m2"}) == "m2"
    assert service("openai-jsonl", tmp_path / "model", system="mine") == "mine"
    named = (FILES / "otlp.jsonl").read_text("utf-8")
    (tmp_path / "otlp").write_text(named.replace("unknown_service:python", "helpdesk"), "utf-8")
    assert service("otlp", tmp_path / "otlp") == "helpdesk"
    assert service("otlp", FILES / "otlp.jsonl") != "unknown_service:python"  # nobody has named it


def test_a_log_that_begins_with_an_outage_is_rated_all_the_same(tmp_path: Path) -> None:
    with (tmp_path / "log.jsonl").open("w", encoding="utf-8") as stream:
        for n in range(80):
            said = [{"role": "user", "content": f"What about number {n}?"}]
            if n >= 30:
                said.append({"role": "assistant", "content": f"It is {n}."})
            stream.write(json.dumps({"messages": said}) + "\n")
    imported("openai-jsonl", tmp_path / "log.jsonl", tmp_path / "out")
    plan = load_plan(tmp_path / "out" / "trustgauge.toml").document()
    plan["experiments"][0]["issues"] = ["complexity"]
    plan["services"]["out"]["dialogs"]["file"] = str(tmp_path / "out" / "dialogs.jsonl")
    document = run.rate(load_plan(plan), RunOptions(ratings=tmp_path / "ratings")).document
    cover = document["ratings"][0]["coverage"]
    assert (cover["planned"], cover["answered"], cover["failed"]) == (80, 50, 30)


def conversations(exchanges: Sequence[LoggedCall], folder: Path) -> tuple[list[list[str]], Conversations]:
    log = Conversations(folder / "calls.sqlite")
    found: dict[int, list[str]] = {}
    for one in log.assemble(exchanges):
        found.setdefault(one.dialog, []).append("–" if one.missing else one.text)
    return list(found.values()), log


def test_calls_without_a_name_are_joined_by_what_they_carry(tmp_path: Path) -> None:
    first: list[Said] = [("user", "Hello")]
    second: list[Said] = [("user", "Hello"), ("bot", "Hi"), ("user", "Why?")]
    calls = [
        LoggedCall(first, "Hi", started="1"),  # two people begin alike,
        LoggedCall(first, "Hi", started="2"),
        LoggedCall([*second[:2], ("user", "When?")], "Now", started="4"),  # and go on in their own ways
        LoggedCall(second, "Because", started="3"),
    ]
    assert conversations(calls, tmp_path)[0] == [
        ["Hello", "Hi", "Why?", "Because"],
        ["Hello", "Hi", "When?", "Now"],
    ]


def test_a_call_made_again_is_one_and_one_that_failed_is_missing(tmp_path: Path) -> None:
    sent: list[Said] = [("user", "A"), ("bot", "a"), ("user", "B")]
    calls = [
        LoggedCall(sent[:1], "a", "x", "1"),
        LoggedCall(sent, None, "x", "2"),
        LoggedCall(sent, "b", "x", "3"),
        LoggedCall([*sent, ("bot", "b"), ("user", "C")], None, "x", "4"),
        LoggedCall([*sent, ("bot", "b"), ("user", "D")], "d", "x", "5"),
    ]
    said, log = conversations(calls, tmp_path)
    assert said == [["A", "a", "B", "b", "C", "–", "D", "d"]]
    assert (log.counts["missing"], log.counts["retried"]) == (1, 1)


def span(number: int, reply: str) -> dict[str, Any]:
    facts = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps([ASKED])}
    facts["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "content": reply}])
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in facts.items()]
    return {"traceId": "t", "spanId": str(number), "attributes": attributes}


ASKED = {"role": "user", "content": "Hello"}
AGAIN: dict[str, Callable[[int, str], dict[str, Any]]] = {
    "openai-jsonl": lambda number, reply: {
        "id": f"call-{number}",
        "messages": [ASKED, {"role": "assistant", "content": reply}],
    },
    "langfuse": lambda number, reply: {"id": f"call-{number}", "input": [ASKED], "output": reply},
    "otlp": lambda number, reply: {"resourceSpans": [{"scopeSpans": [{"spans": [span(number, reply)]}]}]},
    "phoenix": lambda number, reply: {
        "context": {"trace_id": "t", "span_id": str(number)},
        "attributes": {
            "llm.input_messages": [{"message": ASKED}],
            "llm.output_messages": [{"message": {"role": "assistant", "content": reply}}],
        },
    },
}


@pytest.mark.parametrize("form", AGAIN)
def test_of_calls_with_one_id_the_last_counts(form: str, tmp_path: Path) -> None:
    calls = [(1, "Ouch"), (2, "Hi"), (1, "Ahem"), (1, "Good day")]
    lines = [json.dumps(AGAIN[form](number, reply)) for number, reply in calls]
    (tmp_path / "log.jsonl").write_text("\n".join(lines), "utf-8")
    out = trustgauge("import", form, "log.jsonl", "-o", "out", folder=tmp_path).stdout
    said = [row["text"] for row in rows(tmp_path / "out" / "dialogs.jsonl") if row["speaker"] == "bot"]
    assert said == ["Hi", "Good day"]
    assert "4 calls: 2 conversations, 2 answers" in out
    assert "retried  2 calls that were made again; the last counts" in out


def test_an_id_of_a_person_does_not_make_their_conversations_one(tmp_path: Path) -> None:
    talks = [[{"role": "user", "content": text}, {"role": "assistant", "content": "Yes"}] for text in "AB"]
    lines = [json.dumps({"id": "Ann", "messages": talk}) for talk in talks]
    (tmp_path / "log.jsonl").write_text("\n".join(lines), "utf-8")
    counts = imported("openai-jsonl", tmp_path / "log.jsonl", tmp_path / "out")["counts"]
    assert (counts["dialogs"], counts.get("retried", 0)) == (2, 0)


def test_examples_in_a_prompt_are_not_what_the_bot_said(tmp_path: Path) -> None:
    shots: list[Said] = [("user", "2+2"), ("bot", "4"), ("user", "3+3")]
    said, log = conversations([LoggedCall(shots, "6")], tmp_path)
    assert said == [["3+3", "6"]]
    assert log.counts["history"] == 2


def test_keys_and_tokens_are_masked_before_anything_is_stored(tmp_path: Path) -> None:
    secret = "sk-" + "a1B2c3D4" * 4
    line = {
        "messages": [
            {"role": "user", "content": f"My key is {secret}."},
            {"role": "assistant", "content": "Ann Lee"},
        ]
    }
    (tmp_path / "log.jsonl").write_text(json.dumps(line), "utf-8")
    import re

    options = ImportOptions(patterns=[re.compile("Ann")])
    result = imported("openai-jsonl", tmp_path / "log.jsonl", tmp_path / "out", options)
    assert result["counts"]["redacted"] == 2
    for file in (tmp_path / "out").iterdir():
        assert secret.encode() not in file.read_bytes()
        assert b"Ann" not in file.read_bytes()
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "dialogs.jsonl",
        "import.json",
        "trustgauge.toml",
    ]


RESULTS = {
    # file: values, missing, systems, and the mean of a metric that the tool itself printed
    "promptfoo/promptfoo.json": (52, 8, 2, None),
    "promptfoo/promptfoo.jsonl": (52, 8, 2, None),
    "inspect/inspect.json": (16, 4, 1, ("help-desk/includes", 2 / 3)),
    "inspect/inspect.eval": (12, 0, 1, ("help-desk/includes", 2 / 3)),
    "lm-eval/lm-eval": (4, 0, 1, ("desk/exact_match", 0.75)),
    "garak/garak.report.jsonl": (6, 0, 1, ("test.Test/always.Pass", 0.0)),
    "deepeval/deepeval-latest.json": (10, 2, 1, ("Includes", 0.75)),
    "deepeval/deepeval-run.json": (10, 2, 1, ("Includes", 0.75)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_of_other_tools_have_the_figures_that_these_printed(name: str, tmp_path: Path) -> None:
    form, file = name.split("/", 1)
    if file.endswith(".eval"):
        pytest.importorskip("zstandard")
    values, missing, systems, printed = RESULTS[name]
    result = imported(form, FILES / file, tmp_path)
    assert (result["counts"]["values"], result["counts"]["missing"], len(result["systems"])) == (
        values,
        missing,
        systems,
    )
    if printed:
        found = read_results(str(tmp_path))
        metric = found.rows.filter(metric=printed[0])
        assert metric["value"].mean() == pytest.approx(printed[1])
        assert metric["item"].n_unique() >= 3


@pytest.mark.skipif(sys.platform == "win32", reason="has no named pipes")
@pytest.mark.parametrize(
    ("form", "file"),
    [(*name.split("/"),) for name in RESULTS if not name.startswith("lm-eval")]
    + [(form.strip(), file) for form, file in CHATS.items()],
)
def test_what_comes_out_of_a_pipe_is_read_as_a_file_is(form: str, file: str, tmp_path: Path) -> None:
    if file.endswith(".eval"):
        pytest.importorskip("zstandard")
    os.mkfifo(tmp_path / "63")
    content = (FILES / file).read_bytes()
    # It gives its content once: nothing can be sought in it, and a second reader would wait for ever.
    writer = threading.Thread(target=(tmp_path / "63").write_bytes, args=[content], daemon=True)
    writer.start()
    piped = imported(form, tmp_path / "63", tmp_path / "piped")
    writer.join(10)
    plain = imported(form, FILES / file, tmp_path / "plain")
    names = {"source": {**plain["source"], "file": "63"}, "plan_content": piped.get("plan_content")}
    assert piped == {**plain, **(names if "plan" in plain else {"source": names["source"]})}
    written = [sorted(one.name for one in (tmp_path / name).iterdir()) for name in ("piped", "plain")]
    assert written[0] == written[1]


@pytest.mark.skipif(sys.platform == "win32", reason="has no named pipes")
@pytest.mark.parametrize("form", ["promptfoo", "csv"])
def test_a_single_line_that_comes_out_of_a_pipe_is_read_as_a_row(form: str, tmp_path: Path) -> None:
    rows = {
        "promptfoo": {"success": True, "score": 1.0, "vars": {"q": "Hello"}, "provider": {"id": "bot"}},
        "csv": {"item": "Hello", "value": 1.0},
    }
    content = json.dumps(rows[form]) + "\n"
    (tmp_path / "rows.jsonl").write_text(content)
    os.mkfifo(tmp_path / "63")
    threading.Thread(target=(tmp_path / "63").write_text, args=[content], daemon=True).start()
    piped = imported(form, tmp_path / "63", tmp_path / "piped")
    assert piped["counts"] == imported(form, tmp_path / "rows.jsonl", tmp_path / "plain")["counts"]


@pytest.mark.skipif(sys.platform == "win32", reason="has no /dev/stdin")
def test_results_are_read_from_standard_input(tmp_path: Path) -> None:
    for form, said in (
        ("promptfoo", (FILES / "promptfoo.jsonl").read_bytes()),
        ("csv", gzip.compress(b"item;value\na;pass\nb;fail\n")),
    ):
        command = [sys.executable, "-m", "trustgauge", "import", form, "/dev/stdin", "--json", "-o", form]
        done = subprocess.run(command, input=said, capture_output=True, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["counts"]["values"] == {"promptfoo": 52, "csv": 2}[form]


def test_two_ways_of_writing_one_evaluation_name_its_items_alike(tmp_path: Path) -> None:
    for form, files in {
        "promptfoo": ("promptfoo.json", "promptfoo.jsonl"),
        "deepeval": ("deepeval-latest.json", "deepeval-run.json"),
    }.items():
        found = []
        for file in files:
            imported(form, FILES / file, tmp_path / file)
            found.append(
                {
                    (row["system"], row["metric"], row["item"], row["value"])
                    for row in rows(tmp_path / file / "results.jsonl")
                }
            )
        assert found[0] == found[1]


def test_garak_tells_that_a_hit_is_bad(tmp_path: Path) -> None:
    result = imported("garak", FILES / "garak.report.jsonl", tmp_path)
    assert {one["better"] for one in result["metrics"].values()} == {"lower"}


def test_any_table_with_an_item_and_a_value_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,grade,topic\n1,pass,a\n2,FAIL,a\n3,,b\n4,0.25,b\n", "utf-8")
    columns = {"item": "id", "value": "grade", "cluster": "topic"}
    imported("csv", tmp_path / "t.csv", tmp_path / "out", ImportOptions(columns))
    found = read_results(str(tmp_path / "out")).rows
    assert found["value"].to_list() == [1.0, 0.0, None, 0.25]
    assert found["cluster"].to_list() == ["a", "a", "b", "b"]
    (tmp_path / "t.csv").write_text("id,grade\n1,splendid\n", "utf-8")
    with pytest.raises(PlanError, match="no score and no verdict in row 1"):
        imported("csv", tmp_path / "t.csv", tmp_path / "out", ImportOptions({"item": "id", "value": "grade"}))
    with pytest.raises(PlanError, match='no column "mark"'):
        imported("csv", tmp_path / "t.csv", tmp_path / "out", ImportOptions({"item": "id", "value": "mark"}))


def test_a_log_without_content_says_what_to_do(tmp_path: Path) -> None:
    span = {"attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]}
    (tmp_path / "s.json").write_text(
        json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}), "utf-8"
    )
    with pytest.raises(PlanError, match="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"):
        imported("otlp", tmp_path / "s.json", tmp_path / "out")


@pytest.mark.parametrize("text", ['{"a": [1, 2', "[1 2]", '{"a" 1}', "nonsense", '["\\ud8', "[" * 100_000])
def test_broken_json_is_told_with_its_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("\n\n" + text, "utf-8")
    for place in ((), ("a",), (EVERY,)):
        with pytest.raises(PlanError, match="line 3 is not JSON"):
            list(elements(tmp_path / "x.json", place))


def test_elements_come_one_at_a_time_whatever_holds_them(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for text in (
        '{"z": {"b": [9]}, "a": {"b": [1, 22, [3]]}, "y": "]"}',
        '{"a": {"b": [1]}}\n{"a": {"b": [22, [3]]}}',
    ):
        path.write_text(text, "utf-8")
        assert list(elements(path, ("a", "b", EVERY))) == [1, 22, [3]]
    path.write_text(
        " ".join(map(str, range(30_000))), "utf-8"
    )  # numbers on the edges of what is read at once
    assert list(elements(path)) == list(range(30_000))


def test_memory_does_not_grow_with_a_log(tmp_path: Path) -> None:
    line = (FILES / "otlp.jsonl").read_text("utf-8").splitlines()[2]
    peaks = []
    for spans in (200, 1_600):
        with (tmp_path / "s.jsonl").open("w", encoding="utf-8") as stream:
            stream.writelines(line.replace("talk-1", f"talk-{n}") + "\n" for n in range(spans))
        tracemalloc.start()
        imported("otlp", tmp_path / "s.jsonl", tmp_path / "out")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0] + 500_000


TALKS = [
    [
        (
            f"What about number {n} {t}?",
            f"It is {n * t}, which is {'fine' if (n + t) % 3 else 'a stupid question'}.",
        )
        for t in range(3)
    ]
    for n in range(40)
]


def as_csv(path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("dialog", "speaker", "text"))
        for n, talk in enumerate(TALKS, 1):
            for asked, answer in talk:
                writer.writerows(((n, "user", asked), (n, "bot", answer)))


def calls() -> Iterator[tuple[int, list[tuple[str, str]], str]]:
    for n, talk in enumerate(TALKS, 1):
        said: list[tuple[str, str]] = []
        for asked, answer in talk:
            said.append(("user", asked))
            yield n, list(said), answer
            said.append(("assistant", answer))


def as_openai(path: Path) -> None:
    with path.open("w", encoding="utf-8") as stream:
        for talk in TALKS:
            said = [
                {"role": who, "content": text}
                for pair in talk
                for who, text in zip(("user", "assistant"), pair, strict=True)
            ]
            stream.write(json.dumps({"messages": [{"role": "system", "content": "Be kind."}, *said]}) + "\n")


def as_otlp(path: Path) -> None:
    with path.open("w", encoding="utf-8") as stream:
        for at, (_, said, answer) in enumerate(calls()):
            facts = {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": json.dumps(
                    [{"role": who, "parts": [{"type": "text", "content": text}]} for who, text in said]
                ),
                "gen_ai.output.messages": json.dumps(
                    [{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]
                ),
            }
            attributes = [{"key": key, "value": {"stringValue": value}} for key, value in facts.items()]
            span = {"startTimeUnixNano": str(1_700_000_000_000_000_000 + at), "attributes": attributes}
            stream.write(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}) + "\n")


def as_langfuse(path: Path) -> None:
    found = [
        {
            "type": "GENERATION", "sessionId": f"s{n}", "startTime": f"2026-11-23T00:00:00.{at:06}Z",
            "input": {"messages": [{"role": who, "content": text} for who, text in said]}, "output": answer,
        }
        for at, (n, said, answer) in enumerate(calls())
    ]  # fmt: skip
    path.write_text(json.dumps(found[::-1]), "utf-8")  # its exports begin with the newest


def test_one_conversation_is_rated_alike_wherever_it_was_logged(tmp_path: Path) -> None:
    as_csv(tmp_path / "talks.csv")
    writes = {"openai-jsonl": as_openai, "otlp": as_otlp, "langfuse": as_langfuse}
    sources: dict[str, dict[str, Any]] = {"csv": {"layout": "csv", "file": str(tmp_path / "talks.csv")}}
    for form, write in writes.items():
        write(tmp_path / form)
        imported(form, tmp_path / form, tmp_path / f"of-{form}")
        written = load_plan(tmp_path / f"of-{form}" / "trustgauge.toml").document()
        ((_, service),) = written["services"].items()
        sources[form] = service["dialogs"]
    found = {}
    for form, source in sources.items():
        plan = load_plan(
            {
                "name": form,
                "services": {"log": {"use": "dialogs", "dialogs": source}},
                "experiments": [{"method": "trust", "services": ["log"], "issues": ["complexity"]}],
            }
        )
        document = run.rate(plan, RunOptions(ratings=tmp_path / "ratings")).document
        found[form] = [
            (part["level"], part["state"], part["certainty"], part["score"], part["low"], part["high"])
            for rating in document["ratings"]
            for part in (rating["overall"] | {"state": rating["state"]}, *rating["parts"])
        ]
        assert any(one[0] for one in found[form])
    assert found["csv"] == found["openai-jsonl"] == found["otlp"] == found["langfuse"]


def test_readers_are_those_that_are_documented() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guide" / "importing.md").read_text("utf-8")
    assert [name for name in plugins.names("importers") if f"| `{name}` |" not in guide] == []


@pytest.mark.parametrize("layout", ["table", "results"])
def test_translated_texts_become_a_plan_that_runs(layout: str, tmp_path: Path) -> None:
    secret = "sk-" + "a" * 24
    trips = [(f"He is a {job}. She is a {other}.", job) for job, other in JOBS for _ in range(3)]
    came = [(sent, sent.replace("She", "He") if n % 2 else sent) for n, (sent, _) in enumerate(trips)]
    given = tmp_path / "given"
    given.mkdir()
    if layout == "table":
        with (given / "records.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(("source", "back", "language", "middle"))
            writer.writerows((sent, back, "es", f"texto {secret}") for sent, back in came)
            writer.writerow((came[0][0], "", "fr", ""))
        columns = {"sent": "source", "received": "back"}
        result = imported(
            "translations", given / "records.csv", tmp_path / "out", ImportOptions(columns=columns)
        )
        assert (result["counts"]["redacted"], result["systems"]) == (len(came), ["translator"])
        assert secret not in (tmp_path / "out" / "1-trips.jsonl").read_text("utf-8")
    else:
        texts = [{"original": sent, "translated": "texto", "oto": back} for sent, back in came]
        for system in ("t1", "t2"):
            for language in ("es", "fr"):
                (given / f"Result - true - {system} - {language}.json").write_text(
                    json.dumps([texts]), "utf-8"
                )
        result = imported("translations", given, tmp_path / "out")
        assert (result["systems"], result["languages"]) == (["t1", "t2"], ["es", "fr"])
        assert result["counts"]["texts"] == 4 * len(came)
    plan = load_plan(tmp_path / "out" / "trustgauge.toml")
    document = run.rate(plan, RunOptions(ratings=tmp_path / "ratings")).document
    assert [rating["service"]["name"] for rating in document["ratings"]] == result["systems"]
    assert {part["key"] for rating in document["ratings"] for part in rating["parts"]} == {"es", "fr"}


JOBS = [("potter", "vet"), ("smith", "weaver"), ("sailor", "miller"), ("bus driver", "nurse")]


def test_the_plan_of_a_log_tells_its_size_and_simulates_nothing(tmp_path: Path) -> None:
    """What a log can show is in its rating: no plan has its texts."""
    rows = [f"She is nurse {n}.,He is nurse {n}.,{block}" for block in ("u1", "b1") for n in range(40)]
    (tmp_path / "table.csv").write_text("\n".join(["sent,received,block", *rows]), "utf-8")
    trustgauge("import", "translations", "table.csv", folder=tmp_path)
    planned = trustgauge("plan", "imports/table/trustgauge.toml", folder=tmp_path)
    assert "two-step, gender · 2 blocks × 40 texts" in planned.stdout
    assert "finds" not in planned.stdout
