"""JSON as it comes: lines, arrays and large documents, one element at a time in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from trustgauge.data.tables import UNREADABLE, fault, open_text, unreadable

PIECE = 1 << 16  # characters read at once
MOST = 1 << 28  # characters of one element; more is no record of a log
EVERY = "*"
"""In a path: every element of an array."""
_SPACE = " \t\r\n\ufeff"
_DECODER = json.JSONDecoder()
Place = Sequence[str]


def elements(file: Path, place: Place = ()) -> Iterator[Any]:
    """The elements of a JSON file at a place, in order.

    A file may hold one document, a line each, or one after the other; the place is looked up in each. What
    lies elsewhere is read and dropped, so that memory holds one element at a time.

    Args:
        file: UTF-8, perhaps packed with gzip.
        place: keys from the top down, `EVERY` for the elements of an array; () for whole documents.

    Raises:
        PlanError: the file cannot be read, is not UTF-8, or is not JSON; with the line.
    """
    for element, _ in elements_with_head(file, place, ("", "")):
        yield element


def elements_with_head(file: Path, place: Place, head: tuple[str, str]) -> Iterator[tuple[Any, Any]]:
    """The elements at a place, each with a value that stands beside its way.

    Args:
        file: as of `elements`.
        place: as of `elements`.
        head: a key of the place, and the key beside it whose value is wanted. The value is None where it is
            absent or comes later than the elements, since those are not kept.

    Raises:
        PlanError: as `elements`.
    """
    try:
        with open_text(file) as stream:
            scanner = _Scanner(file, stream, head)
            while scanner.peek():
                for element in scanner.walk(tuple(place)):
                    yield element, scanner.head
    except UNREADABLE as error:
        raise unreadable(file, "FILE", error) from None


def first_sign(file: Path) -> str:
    """The first character of a JSON file that is no space: "[" of an array, "{" of an object; "" if empty.

    Raises:
        PlanError: the file cannot be read.
    """
    try:
        with open_text(file) as stream:
            return _Scanner(file, stream).peek()
    except UNREADABLE as error:
        raise unreadable(file, "FILE", error) from None


class _Scanner:
    """A position in a stream of JSON."""

    def __init__(self, file: Path, stream: IO[str], beside: tuple[str, str] = ("", "")) -> None:
        self._file, self._stream = file, stream
        self._beside, self.head = beside, None
        self._text, self._at, self._line, self._over = "", 0, 1, False

    def peek(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            while self._at < len(self._text):
                sign = self._text[self._at]
                if sign not in _SPACE:
                    return sign
                self._at += 1
            if not self._more(PIECE):
                return ""

    def walk(self, place: Place) -> Iterator[Any]:
        """What lies at the place within the next value; the value is read to its end."""
        if not place:
            yield self.value()
        elif place[0] == EVERY and self.peek() == "[":
            yield from self._array(place[1:])
        elif place[0] != EVERY and self.peek() == "{":
            yield from self._object(place)
        else:
            self.value()

    def value(self) -> Any:
        """The next value, whole."""
        size = PIECE
        self.peek()
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise self._fault("lists within lists without end") from None
            except ValueError as error:
                if not self._more(size):
                    raise self._fault(str(error)) from None
            else:
                # a number at the end of what was read may go on
                if end < len(self._text) or not self._more(PIECE):
                    self._at = end
                    return found
            size *= 2  # so that a long value is not tried again and again
            if len(self._text) - self._at > MOST:
                raise self._fault(f"a value of more than {MOST:,} characters")

    def _array(self, place: Place) -> Iterator[Any]:
        self._take("[")
        while self.peek() != "]":
            yield from self.walk(place)
            if self.peek() != "]":
                self._take(",")
        self._take("]")

    def _object(self, place: Place) -> Iterator[Any]:
        self._take("{")
        onward, head = self._beside
        if place[0] == onward:
            self.head = None  # that of the object before
        while self.peek() != "}":
            name = self.value()
            self._take(":")
            if name == place[0]:
                yield from self.walk(place[1:])
            elif name == head and place[0] == onward:
                self.head = self.value()
            else:
                self.value()
            if self.peek() != "}":
                self._take(",")
        self._take("}")

    def _take(self, sign: str) -> None:
        if self.peek() != sign:
            raise self._fault(f'"{sign}" is missing')
        self._at += 1

    def _more(self, size: int) -> bool:
        """Read on; what was passed is dropped. False at the end."""
        if self._over:
            return False
        piece = self._stream.read(size)
        self._over = not piece
        if piece:
            self._line += self._text.count("\n", 0, self._at)
            self._text, self._at = self._text[self._at :] + piece, 0
        return bool(piece)

    def _fault(self, got: str) -> Exception:
        line = self._line + self._text.count("\n", 0, self._at)
        return fault(self._file, "FILE", f"line {line:,} is not JSON", must="JSON", got=got[:200])
