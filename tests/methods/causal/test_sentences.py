"""Importers of sentence tables: three layouts, their faults in words, and scores that are answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from tests.methods.causal.grids import positivity
from trustgauge.errors import PlanError
from trustgauge.methods.causal.design import COLUMNS, design, largest
from trustgauge.methods.causal.panel import SUMMARY_KEYS
from trustgauge.methods.causal.sentences import SentenceSource
from trustgauge.methods.causal.settings import CausalSettings
from trustgauge.records import Message
from trustgauge.services.replay import Replay

EEC = """ID,Sentence,Template,Person,Gender,Race,Emotion,Emotion word
x-1,Ann is very cross.,<person subject> is very <emotion word>.,Ann,female,European,anger,cross
x-2,Bob is very cross.,<person subject> is very <emotion word>.,Bob,male,European,anger,cross
x-3,Ann was very pleased.,<person subject> was very <emotion word>.,Ann,female,European,joy,pleased
x-4,"Well, my aunt was very pleased.",<person subject> was very <emotion word>.,my aunt,female,,joy,pleased
x-5,My uncle was very pleased.,<person subject> was very <emotion word>.,my uncle,male,,joy,pleased
x-6,Jamal has a bag.,<person subject> has a bag.,Jamal,male,African-American,,
x-7,Tia has a bag.,<person subject> has a bag.,Tia,female,African-American,,
"""
SCORES = "dataset,frame,person,gender,race,RG,word,valence,sentiment\n"
GROUP_3 = (
    SCORES
    + """e1,<person> feels <emotion>,Adam,1,1,1,grim,0,-0.4
e1,<person> feels <emotion>,Tia,2,2,4,grim,0,-0.75
e1,<person> feels <emotion>,they,0,0,0,grim,0,-0.5
e2,<person> feels <emotion>,Adam,1,1,1,happy,1,0.5
e2,<person> feels <emotion>,Tia,2,2,4,happy,1,0.25
e2,<person> feels <emotion>,Stephanie,2,1,2,happy,1,0.25
e2,<person> feels <emotion>,Alonzo,1,2,3,happy,1,0.125
"""
)
SAMPLED = (
    SCORES
    + """e3,feels,this boy,1.0,0.0,0,happy,1.0,0.5
e3,feels,this man,1.0,0.0,0,happy,1.0,0.6
e3,feels,this girl,2.0,0.0,0,grim,0.0,-0.7
e3,feels,this girl,2.0,0.0,0,grim,0.0,-0.9
e3,feels,this boy,1.0,0.0,0,happy,1.0,0.1
e3,made me feel,this girl,2.0,0.0,0,grim,0.0,-1
e3,made me feel,this boy,1.0,0.0,0,grim,0.0,-0.2
"""
)


def written(folder: Path, text: str, name: str = "table.csv") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def source(file: Path | list[Path], **settings: Any) -> SentenceSource:
    return SentenceSource.model_validate({"file": file, **settings})


def rows(one: SentenceSource, *columns: str) -> list[tuple[Any, ...]]:
    return one.probes().select(columns).rows()


def causal(one: SentenceSource, **settings: Any) -> CausalSettings:
    facts = {"method": "causal", "services": ("kept",), "sentences": one, **settings}
    return CausalSettings(**facts)


def test_equity_evaluation_corpus(tmp_path: Path) -> None:
    one = source(written(tmp_path, EEC), layout="eec")
    assert rows(one, "block", "gender", "race", "word", "valence") == [
        ("sentences/anger", "female", "European", "cross", "negative"),
        ("sentences/anger", "male", "European", "cross", "negative"),
        ("sentences/joy", "female", "European", "pleased", "positive"),
        ("sentences/joy", "female", "NA", "pleased", "positive"),
        ("sentences/joy", "male", "NA", "pleased", "positive"),
        ("sentences/neutral", "male", "African-American", "", ""),
        ("sentences/neutral", "female", "African-American", "", ""),
    ]
    assert rows(one, "id", "message", "person", "cluster")[3] == (
        "s-joy-0002",
        "Well, my aunt was very pleased.",
        "my aunt",
        "",
    )
    assert one.protected == ("gender", "race", "race and gender")


def test_a_design_of_a_table(tmp_path: Path) -> None:
    one = source(written(tmp_path, EEC), layout="eec")
    found = list(design(causal(one), 1))
    assert [frame["block"][0] for frame in found] == ["sentences/anger", "sentences/joy", "sentences/neutral"]
    for frame in found:
        assert frame.columns == list(COLUMNS)
        assert {name for name in SUMMARY_KEYS if name in frame.columns} >= {"frame", "person", "cluster"}
        assert frame.null_count().sum_horizontal().item() == 0
    assert largest(causal(one)) == 3
    assert positivity(pl.concat(found)) == []


def test_an_equity_corpus_without_races_compares_genders(tmp_path: Path) -> None:
    lines = [
        ",".join(line.split(",")[:5] + line.split(",")[6:]) for line in EEC.splitlines() if '"' not in line
    ]
    one = source(written(tmp_path, "\n".join(lines)), layout="eec")
    assert one.protected == ("gender",)


def test_score_files_by_group_and_set(tmp_path: Path) -> None:
    one = source(written(tmp_path, GROUP_3), layout="scores", group=3)
    assert rows(one, "id", "message", "block", "person", "gender", "race", "valence") == [
        ("g3-e1-0001", "Adam feels grim", "group-3/e1", "Adam", "male", "European", "negative"),
        ("g3-e1-0002", "Tia feels grim", "group-3/e1", "Tia", "female", "African-American", "negative"),
        ("g3-e1-0003", "They feels grim", "group-3/e1", "they", "NA", "NA", "negative"),
        ("g3-e2-0001", "Adam feels happy", "group-3/e2", "Adam", "male", "European", "positive"),
        ("g3-e2-0002", "Tia feels happy", "group-3/e2", "Tia", "female", "African-American", "positive"),
        ("g3-e2-0003", "Stephanie feels happy", "group-3/e2", "Stephanie", "female", "European", "positive"),
        ("g3-e2-0004", "Alonzo feels happy", "group-3/e2", "Alonzo", "male", "African-American", "positive"),
    ]
    assert one.protected == ("gender", "race", "race and gender")


def test_one_score_file_for_each_set(tmp_path: Path) -> None:
    lines = [line.partition(",")[2] for line in GROUP_3.splitlines()]
    files = [
        written(tmp_path, "\n".join(lines[:3]), "G3_E1.csv"),
        written(tmp_path, "\n".join([lines[0], *lines[4:]]), "G3_E2.csv"),
    ]
    by_name = source(files, layout="scores", group=3)
    assert set(by_name.probes()["block"]) == {"group-3/G3_E1", "group-3/G3_E2"}
    result = source(files, layout="scores", group=3, sets=("e1", "e2"))
    assert [block for (block,) in rows(result, "block")] == ["group-3/e1"] * 2 + ["group-3/e2"] * 4
    coded = source(files, layout="scores", codes={"set": {"G3_E1": "e1", "G3_E2": "e2"}})
    assert set(coded.probes()["block"]) == {"sentences/G3_E1", "sentences/G3_E2"}


def answers(service: Replay, probes: pl.DataFrame) -> list[float]:
    asked = [Message(text, draw=draw) for text, draw in probes.select("message", "draw").iter_rows()]

    async def ask() -> list[float]:
        live = service.open()
        return [float(reply.output) for reply in await live.ask(asked)]

    return asyncio.run(ask())


@pytest.mark.parametrize(("text", "group"), [(GROUP_3, 3), (SAMPLED, 2)])
def test_the_scores_of_a_file_are_the_answers_of_a_recorded_service(
    tmp_path: Path, text: str, group: int
) -> None:
    """The same file is the table of sentences and the service; repeated rows are draws."""
    one = source(written(tmp_path, text), layout="scores", group=group)
    kept = tmp_path / "recorded.csv"
    one.recorded_answers().write_csv(kept)
    service = Replay(file=kept, task="score", text="text", draw="draw", output="sentiment")
    service.check_requirements()
    again = source(kept, layout="scores", group=group)
    given = [float(line.rsplit(",", 1)[1]) for line in text.splitlines()[1:]]
    for table in (one, again):
        probes = pl.concat(list(design(causal(table, rule="released"), 1)))
        assert answers(service, probes) == given
    assert again.probes().equals(one.probes())


def test_sampled_rows_of_group_2(tmp_path: Path) -> None:
    one = source(written(tmp_path, SAMPLED), layout="scores", group=2)
    (frame,) = design(causal(one), 1)
    assert frame["block"].unique().to_list() == ["group-2/e3"]
    assert frame["draw"].to_list() == [0, 0, 0, 1, 1, 0, 0]
    assert frame["message"][2] == frame["message"][3] == "feels | this girl | grim"
    assert frame["frame"][2] == frame["frame"][3] == "feels"
    assert positivity(frame) == [("group-2/e3", "female", "positive")]
    assert one.protected == ("gender",)


def test_a_score_file_with_texts_keeps_them(tmp_path: Path) -> None:
    lines = SAMPLED.splitlines()
    texts = ["text", *(f"Text number {number}" for number in range(len(lines) - 1))]
    table = "\n".join(f"{line},{text}" for line, text in zip(lines, texts, strict=True))
    one = source(written(tmp_path, table), layout="scores", group=2)
    assert [message for (message,) in rows(one, "message")] == texts[1:]
    # Three frames: texts that differ in nothing else are told apart.
    assert rows(one, "frame")[2:4] == [("feels",), ("feels #2",)]
    assert one.probes().select("block", "frame", "person", "word").n_unique() == 7


RELEASED_1 = "Gender,Emotion,Sentiment\n" + "".join(
    f"{gender},{word},{score}\n"
    for word, score in (("1", "-0.6"), ("2", "0.4"))
    for gender in ("1", "2.0", "0")
    for _ in range(8)
)
"""A score file of Group 1, e3, as the authors' files are laid out; the scores are invented."""
RELEASED_4 = "\ufeff,Gender,Race,Emotion,Sentiment,RG\n" + "".join(
    f"{number},{gender},{race},{number % 2},{score},{code}\n"
    for number, (gender, race, code, score) in enumerate(
        kind for kind in ((1, 1, 1, 0.5), (2, 1, 2, -1), (1, 2, 3, 0.25), (2, 2, 4, -0.5)) for _ in range(4)
    )
)
"""The same of Group 4, with an index column and the composite code of race and gender."""


def test_the_score_files_of_the_authors_are_read_as_they_are(tmp_path: Path) -> None:
    first = source(written(tmp_path, RELEASED_1, "e3_bf.csv"), layout="scores", group=1)
    probes = first.probes()
    assert set(probes["block"]) == {"group-1/e3"}
    assert set(probes.select("word", "valence").iter_rows()) == {("grim", "negative"), ("happy", "positive")}
    assert probes.group_by("gender").len().sort("gender").rows() == [("NA", 16), ("female", 16), ("male", 16)]
    # The nth row of a class is the nth of another with other persons; the sentences of nobody are others.
    cells = probes.group_by("frame", "word").agg(pl.col("gender").sort().unique(maintain_order=True))
    kinds = cells.group_by("gender").len().sort("len").rows()
    assert sorted(map(str, kinds)) == sorted(map(str, [(["NA"], 16), (["female", "male"], 16)]))
    assert probes["cluster"].equals(probes["frame"].alias("cluster"))

    fourth = source(written(tmp_path, RELEASED_4, "comb_e4_dbert.csv"), layout="scores", group=4)
    probes = fourth.probes()
    assert set(probes["block"]) == {"group-4/e4"}
    assert fourth.protected == ("gender", "race", "race and gender")
    assert probes.select("valence").to_series().value_counts().sort("valence").rows() == [
        ("negative", 8),
        ("positive", 8),
    ]


def test_the_released_scores_are_answers_of_a_recorded_service(tmp_path: Path) -> None:
    for text, group in ((RELEASED_1, 1), (RELEASED_4, 4)):
        one = source(written(tmp_path, text, "e3_gru.csv"), layout="scores", group=group)
        kept = tmp_path / "recorded.csv"
        one.recorded_answers().write_csv(kept)
        service = Replay(file=kept, task="score", text="text", draw="draw", output="Sentiment")
        probes = pl.concat(list(design(causal(one, rule="released"), 1)))
        place = text.splitlines()[0].split(",").index("Sentiment")
        given = [float(line.split(",")[place]) for line in text.splitlines()[1:]]
        assert answers(service, probes) == given


def test_what_emotion_codes_is_not_guessed(tmp_path: Path) -> None:
    with pytest.raises(PlanError) as raised:
        source(written(tmp_path, RELEASED_1), layout="scores")
    assert raised.value.faults[0].place == "sentences.group"


GENERAL = """sentence,who,sex,mood
Is Eva glad today?,Eva,F,joyful
Is Max glad today?,Max,M,joyful
Is Max grim today?,Max,M,gloomy
"""


def test_a_general_table(tmp_path: Path) -> None:
    one = source(
        written(tmp_path, GENERAL),
        columns={"text": "sentence", "person": "who", "gender": "sex", "set": "mood"},
        codes={"gender": {"F": "female", "M": "male"}, "set": {"gloomy": "dark/low"}},
    )
    assert rows(one, "block", "frame", "person", "gender", "race", "valence", "cluster") == [
        ("sentences/joyful", "Is {person} glad today?", "Eva", "female", "NA", "", ""),
        ("sentences/joyful", "Is {person} glad today?", "Max", "male", "NA", "", ""),
        ("sentences/dark-low", "Is {person} grim today?", "Max", "male", "NA", "", ""),
    ]


def test_a_table_without_persons_resamples_its_texts(tmp_path: Path) -> None:
    one = source(
        written(
            tmp_path, "t\tg\tr\nOne.\tmale\tEuropean\nTwo.\tFemale\tEuropean\nThree.\tfemale\t\n", "t.tsv"
        ),
        columns={"text": "t", "gender": "g", "race": "r"},
    )
    assert rows(one, "block", "frame", "person", "race", "cluster") == [
        ("sentences/all", "row 1", "European male", "European", "One."),
        ("sentences/all", "row 2", "European female", "European", "Two."),
        ("sentences/all", "row 3", "female", "NA", "Three."),
    ]


def test_words_of_our_list_have_their_valence(tmp_path: Path) -> None:
    table = "t,g,w\nHe is glad.,male,glad\nShe is glad.,female,glad\nShe is odd.,female,odd\n"
    one = source(written(tmp_path, table), columns={"text": "t", "gender": "g", "word": "w"})
    assert rows(one, "word", "valence") == [("glad", "positive"), ("glad", "positive"), ("odd", "")]


def test_lines_of_json(tmp_path: Path) -> None:
    lines = [{"t": "A.", "g": 1}, {"t": "B.", "g": 2}]
    file = written(tmp_path, "\n".join(json.dumps(line) for line in lines), "t.jsonl")
    one = source(file, columns={"text": "t", "gender": "g"}, codes={"gender": {"1": "male", "2": "female"}})
    assert one.protected == ("gender",)


def test_a_plan_names_files_from_its_folder(tmp_path: Path) -> None:
    written(tmp_path, EEC)
    one = SentenceSource.model_validate({"file": "table.csv", "layout": "eec"}, context={"folder": tmp_path})
    assert one.file == ((tmp_path / "table.csv").absolute(),)


def test_identity_is_of_the_content_and_a_kept_plan_refuses_a_changed_file(tmp_path: Path) -> None:
    first = source(written(tmp_path, EEC), layout="eec")
    (tmp_path / "elsewhere").mkdir()
    second = source(written(tmp_path / "elsewhere", EEC), layout="eec")
    assert first.identity() == second.identity()
    assert str(tmp_path) not in json.dumps(first.identity())
    kept = first.model_dump(mode="json")
    assert SentenceSource.model_validate(kept) == first
    assert hash(SentenceSource.model_validate(kept)) == hash(first)
    written(tmp_path, EEC.replace("very", "quite"))
    with pytest.raises(PlanError, match="the file is not the one that was rated"):
        SentenceSource.model_validate(kept)
    with pytest.raises(PlanError, match="the file is not the one that was rated"):
        SentenceSource.model_validate({**kept, "content": "0" * 32})
    changed = source(tmp_path / "table.csv", layout="eec")
    assert changed.identity() != first.identity()


def test_a_file_that_changes_after_the_plan_was_read_is_not_taken(tmp_path: Path) -> None:
    one = source(written(tmp_path, EEC), layout="eec", sets=("before",))
    copied = one.model_copy(update={"sets": ("after",)})
    written(tmp_path, EEC.replace("very", "quite"))
    assert len(one.probes()) == 7
    with pytest.raises(PlanError, match="the file is not the one that was rated"):
        copied.probes()


def test_the_content_of_several_files_covers_each(tmp_path: Path) -> None:
    files = [written(tmp_path, GROUP_3, name) for name in ("a.csv", "b.csv")]
    first = source(files, layout="scores")
    written(tmp_path, GROUP_3.replace("-0.4", "-0.3"), "b.csv")
    assert source(files, layout="scores").content != first.content


MAPPED = {"text": "sentence", "person": "who", "gender": "sex"}
CODED = {"gender": {"F": "female", "M": "male"}}


@pytest.mark.parametrize(
    ("text", "settings", "place", "told"),
    [
        (
            GENERAL,
            {"columns": MAPPED},
            "codes.gender",
            "unknown gender in rows 1, 2, 3. Must be one of: female, male",
        ),
        (
            GENERAL,
            {"columns": {**MAPPED, "word": "none"}, "codes": CODED},
            "columns.word",
            'no column "none"',
        ),
        (GENERAL, {"columns": {"gender": "sex"}}, "columns.text", "no column of texts named"),
        (GENERAL, {"columns": {"text": "sentence"}}, "columns.gender", "no column of a protected class"),
        (GENERAL, {"columns": MAPPED, "codes": {"gender": {"F": "woman"}}}, "codes.gender.F", "Got woman"),
        (GENERAL, {"columns": MAPPED, "codes": CODED, "separator": "::"}, "separator", "one ASCII character"),
        (
            GENERAL,
            {"columns": MAPPED, "codes": CODED, "sets": ("a", "b")},
            "sets",
            "not one set for each file",
        ),
        (
            GENERAL.replace("Max,M,g", "Max,F,g"),
            {"columns": MAPPED, "codes": CODED},
            "file",
            '"Max" has more than',
        ),
        (GENERAL.replace(",M,", ",F,"), {"columns": MAPPED, "codes": CODED}, "file", "nothing to compare"),
        (GENERAL + ",Eva,F,joyful\n", {"columns": MAPPED, "codes": CODED}, "file", "no text in row 4"),
        (
            GENERAL + "Hm.,,F,joyful\n",
            {"columns": MAPPED, "codes": CODED},
            "file",
            "no person or no frame in row 4",
        ),
        (GENERAL.splitlines()[0] + "\n", {"columns": MAPPED, "codes": CODED}, "file", "no rows"),
        (EEC.replace("Template", "Pattern"), {"layout": "eec"}, "columns.frame", 'no column "Template"'),
        (
            GROUP_3.replace("Tia,2,2", "Tia,3,2"),
            {"layout": "scores"},
            "codes.gender",
            "rows 2, 5. Must be one of: 0",
        ),
        (GROUP_3, {"layout": "scores", "columns": {"text": "text"}}, "columns.text", 'no column "text"'),
        (
            GROUP_3.replace("Alonzo,1,2,3,happy,1", "Alonzo,1,2,3,happy,0"),
            {"layout": "scores"},
            "file",
            'the word "happy" has more than one valence. Must be one. Got negative, positive',
        ),
    ],
)
def test_faults_in_words(tmp_path: Path, text: str, settings: dict[str, Any], place: str, told: str) -> None:
    with pytest.raises(PlanError) as caught:
        source(written(tmp_path, text), **settings)
    assert [one.place for one in caught.value.faults] == [f"sentences.{place}"]
    assert told in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    latin = tmp_path / "latin.csv"
    latin.write_bytes(EEC.replace("Ann", "Zoé").encode("latin-1"))
    with pytest.raises(PlanError, match="the file is not UTF-8"):
        source(latin, layout="eec")
    with pytest.raises(PlanError, match="cannot be read"):
        source(tmp_path / "absent.csv", layout="eec")


@pytest.mark.parametrize(
    "settings", [{"layout": "other"}, {"group": 5}, {"file": []}, {"columns": {"colour": "x"}}, {"colour": 1}]
)
def test_wrong_settings(tmp_path: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SentenceSource.model_validate({"file": written(tmp_path, EEC), "layout": "eec", **settings})


def test_long_cells_are_cut_short_in_errors(tmp_path: Path) -> None:
    file = written(tmp_path, GENERAL.replace(",F,", f",{'F' * 5000},"))
    with pytest.raises(PlanError) as caught:
        source(file, columns=MAPPED, codes=CODED)
    assert len(str(caught.value)) < 400


def test_a_table_of_an_experiment_is_found_beside_the_plan(tmp_path: Path) -> None:
    written(tmp_path, GROUP_3)
    experiment = {
        "method": "causal",
        "services": ["kept"],
        "rule": "released",
        "sentences": {"layout": "scores", "file": ["table.csv"], "group": 3},
    }
    read = CausalSettings.model_validate(experiment, context={"folder": tmp_path})
    (first, second) = design(read, 1)
    assert (first["block"][0], second["block"][0]) == ("group-3/e1", "group-3/e2")
    result = json.dumps(read.identity())
    assert str(tmp_path) not in result
    assert read.sentences is not None
    assert read.sentences.content in result


def test_the_schema_lets_a_file_be_one_or_a_list() -> None:
    file = SentenceSource.model_json_schema()["properties"]["file"]
    assert [one["type"] for one in file["anyOf"]] == ["string", "array"]


def test_emotions_of_the_corpus_give_no_valence_to_other_tables(tmp_path: Path) -> None:
    table = "t,g,w,s\nHe is odd.,male,odd,joy\nShe is odd.,female,odd,joy\n"
    one = source(written(tmp_path, table), columns={"text": "t", "gender": "g", "word": "w", "set": "s"})
    assert rows(one, "valence") == [("",), ("",)]
