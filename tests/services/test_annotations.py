"""People as a service: majorities, ties, skipped texts, and tables that are not as they should be."""

from __future__ import annotations

import asyncio
import json
import pickle
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.services.asking import outputs, replies, replies_to
from trustgauge.engine.local import Job, run
from trustgauge.errors import PlanError, RejectedError, ServiceError
from trustgauge.records import Answer, Message
from trustgauge.services.annotations import People
from trustgauge.services.conformance import check_service

WIDE = """text,A1,A2,A3
good,1,1,1
fair,1,0,1
odd,-1,0,1
half,1,-1,
alone,,1,
none,,,
"""
LONG = "item\twho\tsaid\ngood\tann\tpos\ngood\tbob\tpos\nbad\tann\tneg\nbad\tbob\tneg\nbad\teve\tneu\n"


def people(path: Path, content: str | bytes, **settings: Any) -> People:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    if not {"columns", "annotator"} & set(settings):
        settings["columns"] = ["A1", "A2", "A3"]
    return People.model_validate({"file": path, **settings})


def faulty(path: Path, content: str | bytes, **settings: Any) -> str:
    with pytest.raises(PlanError) as result:
        people(path, content, **settings).check_requirements()
    return str(result.value)


class TestScores:
    def test_the_majority_is_the_score_and_the_labels_are_the_trail(self, tmp_path: Path) -> None:
        good, fair = replies(people(tmp_path / "a.csv", WIDE), "good", "fair")
        assert (good.output, fair.output) == (1.0, 1.0)
        assert fair.trail == ("labelled 1", "labelled 0", "labelled 1")

    def test_a_row_for_each_label(self, tmp_path: Path) -> None:
        words = {"pos": 1, "neu": 0, "neg": -1}
        service = people(tmp_path / "a.tsv", LONG, text="item", annotator="who", label="said", labels=words)
        assert outputs(service, "good", "bad") == [1.0, -1.0]
        assert service.facts()["skipped"] == {"ann": 0, "bob": 0, "eve": 1}

    def test_json_lines_with_numbers(self, tmp_path: Path) -> None:
        rows = [{"text": "x", "A1": 1, "A2": 1.0, "A3": None}, {"text": "y", "A1": -1, "A2": 0, "A3": -1}]
        service = people(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
        assert outputs(service, "y", "x") == [-1.0, 1.0]

    def test_a_code_means_what_the_plan_says_and_nothing_else(self, tmp_path: Path) -> None:
        content = "text,A1,A2,A3\nx,1,1,2\n"
        labels = {"1": -1, "2": 0, "3": 1}
        assert outputs(people(tmp_path / "a.csv", content, labels=labels), "x") == [-1.0]
        result = faulty(tmp_path / "b.csv", "text,A1,A2,A3\nx,1,1,0\n", labels=labels)
        assert "unknown label in row 1" in result

    def test_by_content_key(self, tmp_path: Path) -> None:
        message = Message("hello")
        content = f"key,A1,A2,A3\n{message.key},0,0,1\n"
        service = people(tmp_path / "a.csv", content, message="key")
        assert asyncio.run(replies_to(service, [message]))[0].output == 0.0

    def test_four_labels_need_one_that_is_given_most_often(self, tmp_path: Path) -> None:
        content = "text,A,B,C,D\nmost,1,1,0,-1\ntie,1,1,0,0\n"
        service = people(tmp_path / "a.csv", content, columns=["A", "B", "C", "D"])
        assert outputs(service, "most") == [1.0]
        assert replies(service, "tie")[0].refused


class TestMissing:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("odd", "no label is given most often"),
            ("half", "no label is given most often"),
            ("alone", "fewer than two labels"),
            ("none", "fewer than two labels"),
        ],
    )
    def test_no_majority_is_no_score(self, tmp_path: Path, text: str, words: str) -> None:
        reply = replies(people(tmp_path / "a.csv", WIDE), text)[0]
        assert reply.refused
        assert reply.output == words

    def test_what_the_engine_keeps(self, tmp_path: Path) -> None:
        service = people(tmp_path / "a.csv", WIDE)
        kept: list[Answer] = []
        units = [(Message(text),) for text in ("odd", "good", "else", "alone", "fair")]
        outcome = run([Job("crowd", service, units)], lambda *answers: kept.extend(answers))
        assert outcome.stopped is None
        found = {answer.text: answer for answer in kept}
        statuses = {text: answer.status for text, answer in found.items()}
        assert statuses == {
            "odd": "refused",
            "good": "answered",
            "else": "failed",
            "alone": "refused",
            "fair": "answered",
        }
        assert all(answer.attempts == 1 for answer in kept)
        assert found["odd"].trail == ("labelled -1", "labelled 0", "labelled 1")
        assert found["fair"].trail == ("labelled 1", "labelled 0", "labelled 1")

    def test_a_text_that_nobody_saw_fails(self, tmp_path: Path) -> None:
        with pytest.raises(RejectedError, match='no labels of "else"') as result:
            replies(people(tmp_path / "a.csv", WIDE), "else")
        assert not result.value.retry

    def test_random_ties_are_seeded_by_text(self, tmp_path: Path) -> None:
        rows = "".join(f"text {number},-1,0,1\n" for number in range(300))
        service = people(tmp_path / "a.csv", f"text,A1,A2,A3\n{rows}half,1,-1,\n", ties="random")
        texts = [f"text {number}" for number in range(300)]
        drawn = outputs(service, *texts)
        assert drawn == outputs(service, *texts)
        counts = Counter(drawn)
        assert set(counts) == {-1.0, 0.0, 1.0}
        # 300 draws of three labels: four standard deviations of a count are 33.
        assert all(67 < count < 133 for count in counts.values())
        other = people(tmp_path / "a.csv", service.file.read_bytes(), ties="random", seed=1)
        assert outputs(other, *texts) != drawn
        assert outputs(service, "half")[0] in (-1.0, 1.0)
        assert service.facts()["ties"] == 301


class TestRepeats:
    CONTENT = "text,A1,A2,A3\nx,1,1,0\ny,1,1,1\nx,1,0,0\n"

    def test_two_labels_of_one_person_are_a_fault_unless_pooled(self, tmp_path: Path) -> None:
        result = faulty(tmp_path / "a.csv", self.CONTENT)
        assert 'A2 gave "x" two labels, in rows 1 and 3' in result
        assert 'repeats = "pool"' in result
        service = people(tmp_path / "a.csv", self.CONTENT, repeats="pool")
        assert (
            len(replies(people(tmp_path / "b.csv", self.CONTENT.replace("1,0,0", "1,1,0")), "x")[0].trail)
            == 3
        )
        assert replies(service, "x")[0].refused

    def test_two_labels_of_one_person_are_not_two_people(self, tmp_path: Path) -> None:
        content = "text,A1,A2,A3\nx,1,,\nx,1,,\ny,1,1,1\n"
        assert replies(people(tmp_path / "a.csv", content, repeats="pool"), "x")[0].refused


class TestFacts:
    def test_agreement_of_the_whole_table(self, tmp_path: Path) -> None:
        facts = people(tmp_path / "a.csv", WIDE).facts()
        assert json.loads(json.dumps(facts, allow_nan=False)) == facts
        assert facts["items"] == 6
        assert facts["annotators"] == ["A1", "A2", "A3"]
        assert facts["skipped"] == {"A1": 2, "A2": 1, "A3": 3}
        assert (facts["labels"], facts["few"], facts["ties"]) == (12, 2, 2)
        assert facts["equal"] == 0.25
        # Pairs that agree: 3 of 3, 1 of 3, 0 of 3, 0 of 1.
        assert facts["pairwise"] == pytest.approx(1 / 3)
        assert -1 <= facts["krippendorff_alpha"] <= 1

    def test_one_label_only_has_no_chance_corrected_agreement(self, tmp_path: Path) -> None:
        facts = people(tmp_path / "a.csv", "text,A1,A2,A3\nx,1,1,1\ny,1,1,1\n").facts()
        assert facts["equal"] == 1.0
        assert facts["fleiss_kappa"] is None
        assert facts["krippendorff_alpha"] is None
        assert facts["alpha_interval"] == [None, None]


class TestFaults:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"text,A1,A2,A3\nna\xefve,1,1,1\n", "not UTF-8"),
            ("text,A1,A2\nx,1,1\n", 'no column "A3"'),
            ("said,A1,A2,A3\nx,1,1,1\n", 'no column "text"'),
            ("text,A1,A2,A3\nx,1,1,1\ny,1,2,1\nz,0,2,1\n", "unknown label in rows 2, 3"),
            ("text,A1,A2,A3\nx,1,1,\ny,1,0,NA\n", "no labels of A3"),
            ("text,A1,A2,A3\nx,1,1,1\n,1,0,1\n", "no text in row 2"),
            ("text,A1,A2,A3\n", "no rows"),
        ],
    )
    def test_tables(self, tmp_path: Path, content: str | bytes, words: str) -> None:
        assert words in faulty(tmp_path / "a.csv", content)

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(PlanError, match="cannot be read"):
            People(file=tmp_path / "no.csv", columns=("A", "B")).check_requirements()
        with pytest.raises(PlanError, match="unknown kind of file"):
            People(file=tmp_path / "no.xlsx", columns=("A", "B")).check_requirements()

    def test_labels_without_an_annotator(self, tmp_path: Path) -> None:
        content = "text,who,label\nx,ann,1\nx,,1\ny,bob,0\n"
        assert "no annotator in row 2" in faulty(tmp_path / "a.csv", content, annotator="who", label="label")

    def test_one_annotator_is_too_few(self, tmp_path: Path) -> None:
        content = "text,who,label\nx,ann,1\ny,ann,0\n"
        assert "too few annotators" in faulty(tmp_path / "a.csv", content, annotator="who", label="label")
        assert "too few annotators" in faulty(tmp_path / "b.csv", WIDE, columns=["A1"])
        assert "too few annotators" in faulty(tmp_path / "b.csv", WIDE, columns=["A1", "A1"])

    @pytest.mark.parametrize(
        "settings",
        [{"columns": []}, {"annotator": "who"}, {"columns": ["A1", "A2"], "annotator": "a", "label": "b"}],
    )
    def test_it_must_be_said_where_labels_are(self, tmp_path: Path, settings: dict[str, Any]) -> None:
        assert "the columns of the labels are not named" in faulty(tmp_path / "a.csv", WIDE, **settings)

    def test_other_settings(self, tmp_path: Path) -> None:
        assert "one ASCII character" in faulty(tmp_path / "a.csv", WIDE, separator="::")
        assert "no cell means a label" in faulty(tmp_path / "a.csv", WIDE, labels={})


class TestDescription:
    def test_conformance(self, tmp_path: Path) -> None:
        check_service(people(tmp_path / "a.csv", WIDE), [Message("good"), Message("fair")])

    def test_identity_is_the_content_and_how_it_is_read(self, tmp_path: Path) -> None:
        one = people(tmp_path / "a.csv", WIDE)
        assert people(tmp_path / "b.csv", WIDE).fingerprint == one.fingerprint
        assert people(tmp_path / "c.csv", WIDE + "more,1,1,1\n").fingerprint != one.fingerprint
        assert people(tmp_path / "b.csv", WIDE, ties="random").fingerprint != one.fingerprint
        assert str(tmp_path) not in json.dumps(one.identity())
        assert pickle.loads(pickle.dumps(one)) == one
        assert (one.task, one.kind, one.deterministic) == ("score", "human annotators", True)

    def test_a_changed_file_is_read_again(self, tmp_path: Path) -> None:
        service = people(tmp_path / "a.csv", WIDE)
        assert outputs(service, "good") == [1.0]
        (tmp_path / "a.csv").write_text(WIDE.replace("good,1,1,1", "good,-1,-1,-1"))
        assert outputs(service, "good") == [-1.0]

    def test_as_a_plan_writes_it(self, tmp_path: Path) -> None:
        (tmp_path / "labels.csv").write_text(WIDE.replace("1", "yes"))
        table = tomllib.loads(
            'use = "people"\nfile = "labels.csv"\ncolumns = ["Ayes", "A2", "A3"]\n'
            'labels = { "-yes" = -1, "0" = 0, "yes" = 1 }\n'
        )
        service = People.model_validate(table, context={"folder": tmp_path})
        assert outputs(service, "good") == [1.0]

    def test_hostile_cells_stay_texts(self, tmp_path: Path) -> None:
        for text in ("</script>", "=1+1", "\x1b[31m", "😀", "a\nb"):
            rows = [{"text": text, "A1": "1", "A2": "1", "A3": "0"}]
            service = people(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
            assert outputs(service, text) == [1.0]
            with pytest.raises(ServiceError):
                replies(service, text + "!")
