"""Archives that users supply, unpacked up to a size limit."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from trustgauge.data.tables import fault, read_bytes
from trustgauge.errors import PlanError

MOST_BYTES, MOST_PARTS = 1 << 26, 1000
"""Of an XLSX file, unpacked; a larger one is no sheet that people filled in."""
MOST_UNPACKED = 1 << 29
"""Bytes of an archive of tables, unpacked."""
GZIP = b"\x1f\x8b"
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


def read_xlsx(file: Path, place: str) -> pl.DataFrame:
    """The first sheet of an XLSX file; every cell is text, an empty cell is null.

    Args:
        file: any file.
        place: of the setting that names the file, for errors.

    Raises:
        PlanError: openpyxl is not installed, or the file cannot be read.
    """
    data = xlsx_bytes(file, place)
    try:
        frame = pl.read_excel(io.BytesIO(data), engine="openpyxl", infer_schema_length=0)
    except ImportError:
        do = "Install `trustgauge[sheets]`, or save the sheet as CSV"
        raise fault(file, place, "XLSX needs openpyxl, which is not installed", do=do) from None
    except Exception as error:  # a damaged file can break a reader anywhere
        got = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise fault(file, place, "the file cannot be read as xlsx", got=got) from None
    columns = {name: [cell and unescape(cell) for cell in frame[name]] for name in frame.columns}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def unescape(cell: str) -> str:
    r"""The text of a cell of an XLSX file, with the signs that it writes by number.

    >>> unescape("one_x000A_two")
    'one\ntwo'
    """
    if not _ESCAPED.search(cell):
        return cell
    text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), cell)  # maybe with halves of signs
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def xlsx_bytes(file: Path, place: str) -> bytes:
    """An XLSX file, if it is an archive of parts without entities that unpacks to a bearable size.

    Raises:
        PlanError: it cannot be read, or is no such file.
    """
    data = read_bytes(file, place)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if len(archive.infolist()) > MOST_PARTS:
                raise fault(file, place, "the file is too large", must=f"at most {MOST_PARTS:,} parts")
            size = sum(part.file_size for part in archive.infolist())
            if size > MOST_BYTES:
                must = f"at most {MOST_BYTES:,} bytes unpacked"
                raise fault(file, place, "the file is too large", must=must)
            for part in archive.infolist():
                if b"<!DOCTYPE" in archive.read(part):
                    must = "an ordinary XLSX file"
                    raise fault(file, place, "the file declares a document type", must=must)
    except PlanError:
        raise
    except Exception as error:  # a broken archive fails in as many ways as there are bytes
        raise fault(file, place, "the file cannot be read as XLSX", got=str(error)[:200]) from None
    return data


def members(file: Path, place: str, ending: str, most: int = MOST_UNPACKED) -> Iterator[tuple[str, bytes]]:
    """Name and content of the files in a tar archive, packed by gzip or not, whose names end so.

    Raises:
        PlanError: the archive cannot be read, or unpacks to too much.
    """
    data = _unpacked(file, place, most)
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                name = member.name.rpartition("/")[2]
                opened = archive.extractfile(member) if name.endswith(ending) else None
                if opened is not None:
                    yield name, opened.read()
    except PlanError:
        raise
    except Exception as error:  # as with XLSX
        raise _broken(file, place, error) from None


def _unpacked(file: Path, place: str, most: int) -> bytes:
    data = read_bytes(file, place)
    if not data.startswith(GZIP):
        return data
    unpacking, found = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), bytearray()
    try:
        while data and len(found) <= most:
            found += unpacking.decompress(data, most + 1 - len(found))
            data = unpacking.unconsumed_tail
            if unpacking.eof:  # archives may be put one behind the other
                data = unpacking.unused_data
                unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    except zlib.error as error:
        raise _broken(file, place, error) from None
    if len(found) > most:
        must = f"at most {most:,} bytes unpacked"
        raise fault(file, place, "the archive is too large", must=must)
    return bytes(found)


def _broken(file: Path, place: str, error: Exception) -> PlanError:
    return fault(file, place, "the archive cannot be read", got=str(error)[:200] or type(error).__name__)
