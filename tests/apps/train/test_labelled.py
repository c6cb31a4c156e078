"""Labelled tables: every form that is read, and every fault in words."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import polars as pl
import pytest

from trustgauge.apps.train.labelled import Columns, check_span, read_hutto, read_label_table
from trustgauge.errors import PlanError

TEXTS = [f"text number {number}" for number in range(120)]
STARS = [1 + number % 5 for number in range(120)]
OUT_OF_FIVE = Columns(score="stars", span=(1, 5))


def frame() -> pl.DataFrame:
    return pl.DataFrame({"text": TEXTS, "stars": STARS, "author": [f"a{n // 10}" for n in range(120)]})


def said(file: Path, columns: Columns) -> str:
    with pytest.raises(PlanError) as caught:
        read_label_table(file, columns)
    return str(caught.value)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "ndjson", "parquet"])
def test_every_form_gives_the_same_rows(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"table.{ending}"
    if ending == "parquet":
        frame().write_parquet(file)
    elif ending.endswith("jsonl") or ending == "ndjson":
        frame().write_ndjson(file)
    else:
        frame().write_csv(file, separator="\t" if ending == "tsv" else ",")
    data = read_label_table(file, OUT_OF_FIVE)
    assert data.rows["text"].to_list() == TEXTS
    assert data.rows["score"].to_list() == [(stars - 3) / 2 for stars in STARS]
    assert data.rows["group"].n_unique() == 120
    assert (data.name, data.left_out, len(data.content)) == (file.name, 0, 32)
    assert read_label_table(file, Columns(score="stars", span=(1, 5), group="author")).rows[
        "group"
    ].to_list() == [f"a{n // 10}" for n in range(120)]


def test_words_stand_for_scores(tmp_path: Path) -> None:
    file = tmp_path / "words.csv"
    lines = ["text,score", *(f"text {n},{('bad', 'so-so', ' good ')[n % 3]}" for n in range(120))]
    file.write_text("\n".join(lines))
    labels = {"bad": -1.0, "so-so": 0.25, "good": 1.0}
    assert read_label_table(file, Columns(labels=labels)).rows["score"].to_list() == [-1.0, 0.25, 1.0] * 40
    result = said(file, Columns(labels={"bad": -1.0, "good": 1.0}))
    assert "unknown label" in result
    assert '"so-so" in row 2, and 39 more' in result
    assert '"bad", "good"' in result


def test_rows_without_text_or_label_are_left_out_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "gaps.csv"
    file.write_text("text,score\n" + "".join(f"text {n},{n % 2}\n" for n in range(110)) + ",1\n  ,1\nword,\n")
    data = read_label_table(file, Columns())
    assert (len(data.rows), data.left_out) == (110, 3)


@pytest.mark.parametrize("bad", ["six", "7", "nan", "inf", "-1.5", "1,5"])
def test_a_label_that_is_no_number_of_the_scale_is_told_with_its_row(bad: str, tmp_path: Path) -> None:
    file = tmp_path / "table.tsv"
    file.write_text("text\tscore\n" + "one\t0.5\n" * 150 + f"two\t{bad}\n")
    result = said(file, Columns())
    assert "a label is no number of the scale" in result
    assert "Must be a number from -1 to 1" in result
    assert f'Got "{bad}" in row 151' in result
    assert "--range" in result


def test_columns_that_are_missing_are_told_all_at_once(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    frame().write_csv(file)
    result = said(file, Columns(text="review", score="rating", group="writer"))
    assert [line.split(":")[0] for line in result.splitlines()] == ["--text", "--score", "--group"]
    assert 'one of: "text", "stars", "author"' in result


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("text,score\n" + "one,1\ntwo,0\n" * 49, "too few labelled rows. Must be at least 100. Got 98"),
        ("text,score\n" + "one,1\n" * 200, "all labels are equal"),
        ("text,score\n", "no rows"),
        (
            "text,score\n" + "one,1\n" * 200 + "f\udce9e,1\n",
            "not UTF-8. Must be UTF-8 text. Got an unreadable",
        ),
    ],
)
def test_unusable_tables_say_why(content: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert words in said(file, Columns())


def test_files_of_the_wrong_kind_say_so(tmp_path: Path) -> None:
    assert "must be" in said(tmp_path / "table.xlsx", Columns()).lower()
    assert "cannot be read" in said(tmp_path / "absent.csv", Columns())
    assert "cannot be read" in said(tmp_path / "absent.parquet", Columns())
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    assert "cannot be read as parquet" in said(tmp_path / "torn.parquet", Columns())
    pl.DataFrame({"text": [["a", "b"]] * 120, "score": [{"x": 1}] * 120}).write_parquet(
        tmp_path / "deep.parquet"
    )
    assert "a column cannot be read" in said(tmp_path / "deep.parquet", Columns())
    (tmp_path / "no.jsonl").write_text(json.dumps([1, 2]) + "\n")
    assert "not a JSON object" in said(tmp_path / "no.jsonl", Columns())


def test_a_parquet_column_may_have_any_name(tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    pl.DataFrame({"row": TEXTS, "score": [n % 2 for n in range(120)]}).write_parquet(file)
    assert read_label_table(file, Columns(text="row")).rows["text"].to_list() == TEXTS


def hutto(lines: list[str]) -> bytes:
    return ("\r\n".join(lines) + "\r\n").encode()


TWEETS = [f"{number}\t{number % 9 - 4}.0\ttweet {number} &amp; more" for number in range(90)]
NEWS = [f"{number // 5}_{number % 5}\t{number % 5 - 2}.5\tsentence {number}" for number in range(50)]


def archive(folder: Path, files: dict[str, bytes]) -> Path:
    file = folder / "rated.tar.gz"
    with tarfile.open(file, "w:gz") as opened:
        for name, content in files.items():
            member = tarfile.TarInfo(f"folder/{name}")
            member.size = len(content)
            opened.addfile(member, io.BytesIO(content))
    return file


def test_the_archive_of_rated_snippets_is_read_whole(tmp_path: Path) -> None:
    file = archive(
        tmp_path,
        {
            "tweets_GroundTruth.txt": hutto(TWEETS),
            "tweets_anonDataRatings.txt": b"\xff not for us",
            "news_GroundTruth.txt": hutto(NEWS),
        },
    )
    rows = read_hutto(file).rows
    assert rows.group_by("source").len().sort("source").rows() == [("news", 50), ("tweets", 90)]
    assert rows["text"][0] == "tweet 0 & more"
    assert rows["score"][:3].to_list() == [-1.0, -0.75, -0.5]
    assert rows.filter(source="news")["group"].n_unique() == 10
    assert rows.filter(source="tweets")["group"].n_unique() == 90


def test_one_file_of_it_can_be_read_alone(tmp_path: Path) -> None:
    file = tmp_path / "tweets_GroundTruth.txt"
    file.write_bytes(hutto(TWEETS + [f"{n}\t1\tmore {n}" for n in range(90, 110)]))
    assert read_hutto(file).rows["source"].unique().to_list() == ["tweets"]


def test_faults_of_the_archive_are_told(tmp_path: Path) -> None:
    def fault_of(file: Path) -> str:
        with pytest.raises(PlanError) as caught:
            read_hutto(file)
        return str(caught.value)

    assert "no rated file" in fault_of(archive(tmp_path, {"readme.txt": b"hello"}))
    assert "2 in line 91 of tweets" in fault_of(
        archive(tmp_path, {"tweets_GroundTruth.txt": hutto([*TWEETS, "91\t1"])})
    )
    assert "not UTF-8" in fault_of(
        archive(tmp_path, {"tweets_GroundTruth.txt": hutto(TWEETS) + b"1\t1\t\xff"})
    )
    assert "from -4 to 4" in fault_of(
        archive(tmp_path, {"tweets_GroundTruth.txt": hutto([*TWEETS, "91\t5\ttoo much"])})
    )
    (tmp_path / "rated.tar.gz").write_bytes(b"no archive")
    assert "the archive cannot be read" in fault_of(tmp_path / "rated.tar.gz")


def test_a_scale_has_two_ends() -> None:
    assert check_span((1, 5)) == (1, 5)
    for wrong in ((5, 1), (1, 1), (float("nan"), 1), (0, float("inf"))):
        with pytest.raises(ValueError, match="the smaller first"):
            check_span(wrong)
