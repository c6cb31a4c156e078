"""Users' tables: CSV, TSV and JSON lines, read as text, with readable errors."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO

import polars as pl

from trustgauge.errors import Fault, PlanError, raise_faults
from trustgauge.records import digest, json_or_none

SUFFIXES = {".csv": ",", ".tsv": "\t", ".jsonl": "", ".ndjson": ""}
"""Kinds of files by their ending, and what separates the cells of a line."""
UTF_8 = "utf-8-sig"  # with a byte order mark or without
CHINESE: tuple[str, ...] = (UTF_8, "gb18030")
"""Encodings of tables that may come from China, in the order in which they are tried (social-bias 3.1)."""
WESTERN: tuple[str, ...] = (UTF_8, "cp1252")
"""The same of sheets that hold no Chinese: nearly any text can be read as GB18030, as wrong signs."""
NAMES = {UTF_8: "UTF-8", "gb18030": "GB18030", "cp1252": "Windows-1252"}
ABSENT = "absent"  # the hash of a file that cannot be read
SHOWN = 60  # characters of a cell that an error shows
MOST_CELLS = 100_000_000  # of a Parquet file, some gigabytes in memory
MOST_FILES = 10_000  # of a folder, those of its folders included
ROWS_SHOWN = 5  # row numbers that an error lists
PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"PAR1": "Parquet"}
"""First bytes of files that hold no text -> what they are."""
UNREADABLE = (UnicodeDecodeError, OSError, EOFError, zlib.error)
"""Errors of reading a file by `open_text`."""
SAVE = "Save it as UTF-8; spreadsheets call it “CSV UTF-8”"
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
LONGEST_LINE = 1 << 20  # characters of a line that tells what a text without an ending is
LONGEST_CELL = 1 << 27  # characters of a cell
_QUOTED = re.compile('"[^"]*"')
_IDEOGRAPH = re.compile("[\u3400-\u9fff]")  # signs of Chinese
_WORD = re.compile("[\u3400-\u9fff]{2}")  # Chinese that is not single signs
_WITHIN = re.compile("[a-z][\u3400-\u9fff]|[\u3400-\u9fff][a-z]")


def read_table(
    file: Path, place: str, separator: str = "", encodings: Sequence[str] = (UTF_8,)
) -> pl.DataFrame:
    """As `read_cells`, of a file that has rows. Raises PlanError also if it has none."""
    frame = read_cells(file, place, separator, encodings)
    if not len(frame):
        raise fault(file, place, "the file has no rows", must="at least one row of cells")
    return frame


def _whole_or_none(text: str) -> str | None:
    return _whole(text) or None


def read_cells(
    file: Path,
    place: str,
    separator: str = "",
    encodings: Sequence[str] = (UTF_8,),
    of_text: Callable[[str], str | None] = _whole_or_none,
) -> pl.DataFrame:
    """The rows of a file, if it has any; every cell is text, an empty cell is null.

    Row 1 is the first row below the header, or the first line of JSON.

    Args:
        file: ends in one of `SUFFIXES`.
        place: of the setting that names the file, for errors.
        separator: of the cells; by default that of the header, and the tab for .tsv.
        encodings: tried in this order.
        of_text: the cell of a text in JSON lines.

    Raises:
        PlanError: the file cannot be read, is in none of the encodings, or is no such table.
    """
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise fault(file, place, "unknown kind of file", must=f"a name ending in {', '.join(SUFFIXES)}")
    text = text_of_table(file, place, encodings)
    if "\n" not in text:
        text = text.replace("\r", "\n")  # the ends of lines of old Macs
    separator = separator or separator_of(text.partition("\n")[0], suffix)
    try:
        return text_cells(text, separator) if SUFFIXES[suffix] else _json_lines(file, place, text, of_text)
    except pl.exceptions.PolarsError as error:
        if not text.strip():
            raise fault(
                file, place, f"the file cannot be read as {suffix[1:]}", got="an empty file"
            ) from None
        _check_rows(file, place, text, separator)
        got = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise fault(file, place, f"the file cannot be read as {suffix[1:]}", got=got) from None


def separator_of(header: str, suffix: str = ".csv") -> str:
    """What separates the cells of a table, by its first line: commas, or else semicolons or tabs.

    >>> separator_of('text;"score, of ten"'), separator_of("text, of ten; short"), separator_of("text")
    (';', ',', ',')
    """
    bare = _QUOTED.sub("", header)
    if suffix != ".csv" or "," in bare:
        return SUFFIXES[suffix]
    return max(",;\t", key=bare.count)


def csv_rows(file: Path, place: str) -> Iterator[dict[str, str | None]]:
    """The rows of a .csv or .tsv file, one at a time, as cells by column; None where a row is too short.

    Raises:
        PlanError: the file cannot be read, is not UTF-8, or a row has more cells than the header.
    """
    csv.field_size_limit(LONGEST_CELL)
    try:
        with open_text(file) as stream:
            separator = separator_of(stream.readline(), ending(file))
            stream.seek(0)
            rows = csv.DictReader(stream, delimiter=separator, strict=True)
            for number, row in enumerate(rows, 1):
                over = row.pop(None, ())
                if any(cell.strip() for cell in over):
                    raise _too_wide(file, place, number, len(row) + len(over), len(row), separator)
                yield row
    except csv.Error as error:
        raise _bad_csv(file, place, rows.reader.line_num, error) from None
    except UNREADABLE as error:
        raise unreadable(file, place, error) from None


def ending(file: Path) -> str:
    """The ending of a file's name in small letters, without that of gzip.

    >>> ending(Path("calls.JSONL.gz")), ending(Path("calls"))
    ('.jsonl', '')
    """
    return Path(file.name.lower().removesuffix(".gz")).suffix


def ending_of_content(file: Path) -> str:
    """The ending of a name that suits a text, by its first lines: of JSON, JSON lines or a table, or ""."""
    try:
        with open_text(file) as stream:
            first, second = stream.readline(LONGEST_LINE), stream.readline(LONGEST_LINE)
    except UNREADABLE:
        return ""
    if not first.lstrip().startswith(("{", "[")):
        return ".csv"
    return ".jsonl" if second.strip() and json_or_none(first) is not None else ".json"


def open_text(file: Path) -> IO[str]:
    """A UTF-8 file to be read as text, unpacked if it is packed with gzip. Raises what `UNREADABLE` lists."""
    with file.open("rb") as stream:
        is_packed = PACKED.get(stream.read(2)) == "gzip"
    if is_packed:
        return gzip.open(file, "rt", encoding=UTF_8, newline="")
    return file.open(encoding=UTF_8, newline="")


def unreadable(file: Path, place: str, error: Exception) -> PlanError:
    """The fault of a file that cannot be read, by one of the errors `UNREADABLE`."""
    if isinstance(error, UnicodeDecodeError):
        return no_text(file, place)
    got = getattr(error, "strerror", "") or str(error)
    do = "Name one file, not a folder" if isinstance(error, IsADirectoryError) else ""
    return fault(file, place, "the file cannot be read", got=got, do=do)


def no_text(file: Path, place: str, names: str = "UTF-8", got: str = "") -> PlanError:
    """The fault of a file that is no text in such an encoding; says what it is if its first bytes tell."""
    head = read_bytes(file, place)[:4]
    kind = next((kind for sign, kind in PACKED.items() if head.startswith(sign)), "")
    do = SAVE if not kind else "Export it as text" if kind == "Parquet" else "Unpack it"
    got = f"a {kind} file" if kind else got
    return fault(file, place, f"the file is not {names}", must=f"{names} text", got=got, do=do)


def _check_rows(file: Path, place: str, text: str, separator: str) -> None:
    """Say which row of a table cannot be read, and why, as far as rows can be identified."""
    csv.field_size_limit(LONGEST_CELL)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator or ",", strict=True)
    try:
        wide = len(next(rows, []))
        for number, row in enumerate(rows, 1):
            if len(row) > wide:
                raise _too_wide(file, place, number, len(row), wide, separator)
    except csv.Error as error:
        raise _bad_csv(file, place, rows.line_num, error) from None


def _bad_csv(file: Path, place: str, line: int, error: csv.Error) -> PlanError:
    do = "Close every double quote; write one inside a text twice"
    return fault(file, place, f"the file cannot be read as csv, at line {line:,}", got=str(error), do=do)


def _too_wide(file: Path, place: str, number: int, cells: int, wide: int, separator: str) -> PlanError:
    return fault(
        file,
        place,
        f"row {number:,} has more cells than the header",
        must=f"{wide}, as the header has",
        got=str(cells),
        do=f"Put texts that contain the separator ({SEPARATORS.get(separator, separator)}) in double quotes",
    )


def text_cells(text: str, separator: str) -> pl.DataFrame:
    """The cells of a table as text. Raises polars.exceptions.PolarsError."""
    # Polars takes what begins like compressed data for such, "x^2,y" for instance: the mark rules that out.
    return pl.read_csv(io.BytesIO(text.encode(UTF_8)), separator=separator, infer_schema=False)


def read_text(file: Path, place: str, encodings: Sequence[str] = (UTF_8,)) -> tuple[str, str]:
    """The text of a file, without a byte order mark, and the encoding that could read it.

    Args:
        file: any file.
        place: of the setting that names the file, for errors.
        encodings: tried in this order; at least one.

    Raises:
        PlanError: the file cannot be read, or is in none of the encodings.
    """
    data = read_bytes(file, place)
    broken = 0
    for encoding in encodings:
        try:
            return data.decode(encoding), encoding
        except UnicodeDecodeError as error:
            broken = error.start
    names = " or ".join(NAMES.get(encoding, encoding) for encoding in encodings)
    line = data.count(b"\n", 0, broken) + 1
    got = f"an unreadable byte in line {line}"
    raise no_text(file, place, names, got)


def text_of_table(file: Path, place: str, encodings: Sequence[str] = (UTF_8,)) -> str:
    """`read_text` of a table that does not say its languages: Western text is not read as Chinese.

    Raises:
        PlanError: as `read_text`, or it is Western text in an old encoding.
    """
    text, encoding = read_text(file, place, encodings)
    if encoding == CHINESE[-1] and (line := _misread_line(text)):
        names = " or ".join(NAMES.get(one, one) for one in encodings)
        raise no_text(file, place, names, f"a letter of another encoding in line {line}")
    return text


def _misread_line(text: str) -> int:
    """The first line of Western text that was read as Chinese; 0 if it is none.

    Of such text a sign stands in place of each accent, and none beside another.

    >>> _misread_line("infirmières".encode("cp1252").decode("gb18030")), _misread_line("男,女,iphone的人们")
    (1, 0)
    """
    found = _WITHIN.search(text)
    return 0 if found is None or _WORD.search(text) else 1 + text.count("\n", 0, found.start())


def encodings_of(texts: Iterable[str]) -> tuple[str, ...]:
    """The encodings that a sheet about these texts may be in.

    >>> encodings_of(["女性？"]) == CHINESE, encodings_of(["Women?"]) == WESTERN
    (True, True)
    """
    return CHINESE if any(_IDEOGRAPH.search(text) for text in texts) else WESTERN


def read_parquet(file: Path, place: str, most: int = MOST_CELLS) -> pl.DataFrame:
    """The columns of a Parquet file, of whatever types.

    Args:
        file: any file.
        place: of the setting that names the file, for errors.
        most: cells that it may have; a few bytes can stand for a billion equal ones.

    Raises:
        PlanError: it cannot be read, or has too many cells.
    """
    data = read_bytes(file, place)
    try:
        lazy = pl.scan_parquet(io.BytesIO(data))
        cells = lazy.select(pl.len()).collect().item() * len(lazy.collect_schema())
        if cells > most:
            raise fault(
                file, place, "the file is too large", must=f"at most {most:,} cells", got=f"{cells:,}"
            )
        return pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        got = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise fault(file, place, "the file cannot be read as parquet", got=got) from None


def files_below(folder: Path, place: str, most: int = MOST_FILES) -> list[Path]:
    """Every file in a folder and those within it, by name.

    Raises:
        PlanError: it holds more than `most`, so it is no folder of the kind that was meant.
    """
    found = list(islice(folder.rglob("*"), most + 1))
    if len(found) > most:
        raise fault(folder, place, "the folder contains too many files", must=f"at most {most:,} files")
    return sorted(one for one in found if one.is_file())


def read_bytes(file: Path, place: str) -> bytes:
    """The bytes of a file. Raises PlanError if it cannot be read."""
    try:
        return file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        got = getattr(error, "strerror", "") or str(error)
        raise fault(file, place, "the file cannot be read", got=got) from None


def need_columns(file: Path, frame: pl.DataFrame, columns: Mapping[str, str]) -> None:
    """Check that columns exist.

    Args:
        file: the table came from.
        frame: the table.
        columns: place of the setting -> the column that it names.

    Raises:
        PlanError: with a fault for each column that is not there.
    """
    there = ", ".join(short(name) for name in frame.columns)
    faults = tuple(
        Fault(place, f"no column {short(column)} in {file.name}", must=f"one of: {there}")
        for place, column in columns.items()
        if column not in frame.columns
    )
    raise_faults(faults)


def content_hash(file: Path) -> str:
    """BLAKE2b of the bytes of a file, 32 hex digits; `ABSENT` if it cannot be read."""
    try:
        found = file.stat()
        return _hash(file, found.st_mtime_ns, found.st_size)
    except OSError:
        return ABSENT


def check_content(files: Sequence[Path], content: str, place: str) -> str:
    """The hash of the files, checked against the expected one; `ABSENT` if one cannot be read.

    A kept plan tells the hash of what was rated: other files are not rated under its name.

    Args:
        files: one or more.
        content: the expected hash, "" for none.
        place: of the files in the plan.

    Raises:
        PlanError: the files have another content than expected.
    """
    hashes = [content_hash(one) for one in files]
    if ABSENT in hashes:
        return ABSENT
    found = hashes[0] if len(hashes) == 1 else digest("files", hashes)
    if content not in ("", found):
        raise fault(
            files[0],
            place,
            "the file is not the one that was rated",
            must=f"content {content}",
            got=found,
            do="Put the old file back, or leave out `content` to rate the new one",
        )
    return found


def fault(file: Path, place: str, what: str, *, must: str = "", got: str = "", do: str = "") -> PlanError:
    """A PlanError about a file: what is wrong, what it must be, what was found, what to do."""
    return PlanError.of(place, f"{file.name}: {what}", must, got, do)


def short(text: str) -> str:
    """A cell as errors show it: quoted, at most `SHOWN` characters."""
    shown = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return json.dumps(shown, ensure_ascii=False)


def rows_in_words(rows: list[int]) -> str:
    """Row numbers in words.

    >>> rows_in_words([4]), rows_in_words([1, 2, 3, 4, 5, 6, 9])
    ('row 4', 'rows 1, 2, 3, 4, 5 and 2 more')
    """
    listed = ", ".join(str(row) for row in rows[:ROWS_SHOWN])
    more = f" and {len(rows) - ROWS_SHOWN} more" if len(rows) > ROWS_SHOWN else ""
    return f"row{'s' if len(rows) > 1 else ''} {listed}{more}"


def _json_lines(file: Path, place: str, text: str, of_text: Callable[[str], str | None]) -> pl.DataFrame:
    """One JSON object a line; values that are no text are kept as JSON."""
    columns: dict[str, list[str | None]] = {}
    count = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        row = json_or_none(line)
        if not isinstance(row, dict):
            raise fault(file, place, f"line {number} is not a JSON object", must="one JSON object per line")
        row = {_whole(key): value for key, value in row.items()}
        for key in row:
            if key not in columns:
                columns[key] = [None] * count
        for key, cells in columns.items():
            cells.append(_cell(row.get(key), of_text))
        count += 1
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def _cell(value: object, of_text: Callable[[str], str | None]) -> str | None:
    if isinstance(value, str):
        return of_text(value)
    return None if value is None else json.dumps(value)


def _whole(text: str) -> str:
    """The text without halves of characters, which UTF-8 cannot hold and JSON can escape."""
    return text.encode("utf-8", "replace").decode()


@lru_cache(maxsize=8)
def _hash(file: Path, _modified: int, _size: int) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
