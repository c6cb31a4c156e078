"""What fuzzing found, each by its name: it ended in a traceback, hung, or filled the memory once."""

from __future__ import annotations

import gzip
import io
import tarfile
import time
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from tests.fuzz.readers import CASES, Case
from trustgauge.cli.main import group, main
from trustgauge.data.archives import members
from trustgauge.data.tables import files_below
from trustgauge.errors import TrustgaugeError

BY_NAME = {case.name: case for case in CASES}
LONG = b"9" * 400


def changed(case: Case, old: bytes, new: bytes) -> bytes:
    assert old in case.data
    return case.data.replace(old, new)


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("trips.xlsx", None, b"no archive", "cannot be read as XLSX"),
        ("trips.parquet", None, b"PAR1" + b"\0" * 40 + b"PAR1", "cannot be read as parquet"),
        ("replay.parquet", None, b"PAR1PAR1", "cannot be read as parquet"),
        ("tweets.tar.gz", None, b"\x1f\x8b\x08\0 no archive", "the archive cannot be read"),
        ("Result - t1 - summary.csv", b"0.1", b"", "is not a summary of round trips"),
        ("Result - t1 - summary.csv", b"es,", b"\x80,", "is not a summary of round trips"),
        ("two-step/Result - true - t1 - es.json", None, b"[" * 9000, "is not a record of round trips"),
        ("ledger", b"[3, 0.5, 10]", b"[3, 0.5]", "is damaged"),
        ("ledger", b"12]", LONG + b"]", "is damaged"),
        ("apertium/modes/en-es.mode", b"'/usr", b"/usr", "mode file .* cannot be read"),
        ("apertium/modes/en-es.mode", b"-z", b"\x80", "mode file .* cannot be read"),
        ("manifest/manifest.json", b'"fresh": false', b'"subjects": 1', "another kind of value in subjects"),
        ("manifest/manifest.json", b'"fresh": false', b'"services": Infinity', "Infinity is no number"),
        ("manifest/manifest.json", b'"fresh": false', b'"unkept": {"calls": "x"}', "value in unkept"),
        ("embedder/modules.json", b'"1_Pooling"', b'"' + LONG + b'"', "the file cannot be read"),
        ("embedder/modules.json", b'"1_Pooling"', rb'"1_\ud800"', "leads out of the folder"),
        ("slant/model.json", b"0.1", LONG, "no .*model|cannot be read|is no"),
        ("scores.csv", b"Gender", b"\0Gender", "no column|gender"),
    ],
)
def test_a_damaged_file_is_refused_in_words(
    name: str, old: bytes | None, new: bytes, words: str, tmp_path: Path
) -> None:
    case = BY_NAME[name]
    path = case.place(tmp_path)
    path.write_bytes(new if old is None else changed(case, old, new))
    with pytest.raises(TrustgaugeError, match=words):
        case.read(path)


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        member = tarfile.TarInfo("zeros_GroundTruth.txt")
        member.size = 2 << 20
        archive.addfile(member, io.BytesIO(bytes(member.size)))
    path = tmp_path / "bomb.tar.gz"
    path.write_bytes(gzip.compress(plain.getvalue()))
    with pytest.raises(TrustgaugeError, match="the archive is too large"):
        list(members(path, "TABLE", "_GroundTruth.txt", most=1 << 20))


def test_dialogs_of_tens_of_thousands_of_questions_are_read_in_seconds(tmp_path: Path) -> None:
    """A window within a window took a time that grew with the square of the questions: a minute for these."""
    path = tmp_path / "answers.csv"
    pl.DataFrame({"question": ["Who?"] * 60_000, "answer": ["Both."] * 60_000}).write_csv(path)
    began = time.process_time()
    assert len(BY_NAME["answers.csv"].read(path)) == 60_000
    assert time.process_time() - began < 10


def test_an_environment_file_that_is_no_text_is_passed_over_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_bytes(b"OPENAI_API_KEY=\x80")
    (tmp_path / ".env").chmod(0o600)
    (tmp_path / "plan.toml").write_text(
        '[services.a]\nuse = "openai"\nmodel = "m"\n[[experiments]]\nmethod = "two-step"\nservices = ["a"]\n'
    )
    done = CliRunner().invoke(group, ["plan", "plan.toml"])
    assert ".env is not read: it must be UTF-8 text" in done.output


def test_a_name_longer_than_the_system_allows_is_an_error_of_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", "a" * 5000])
    assert ended.value.code == 2
    assert "longer than this system allows" in capsys.readouterr().err


def test_a_folder_that_holds_far_more_than_a_brain_is_not_walked_to_its_end(tmp_path: Path) -> None:
    """A plan that named the root of the system as a brain had all of it walked."""
    for number in range(12):
        (tmp_path / f"{number}.rive").write_text("+ *\n- Hi\n")
    assert len(files_below(tmp_path, "file", most=12)) == 12
    with pytest.raises(TrustgaugeError, match=r"contains too many files\. Must be at most 11 files"):
        files_below(tmp_path, "file", most=11)
