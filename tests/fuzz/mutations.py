"""What fuzzing feeds to readers: real files with damage, JSON with odd leaves, hostile texts.

`EXAMPLES` is how often each reader is tried: few by default, more with FUZZ_EXAMPLES in the environment
(see CONTRIBUTING.md). Time is counted on the processor, so that a busy machine fails no test.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "25"))
LONGEST, PER_BYTE = 5.0, 40e-6
"""Seconds of the processor that a reader may take at most, and for each byte of what it reads."""

fuzzed = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="FUZZ_EXAMPLES" not in os.environ,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)

SPLINTERS = (
    *(b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\n\n", b"\t", b'"', b"'"),
    *(
        b'""',
        b",",
        b";",
        b"|",
        b"=",
        b"[",
        b"]",
        b"{",
        b"}",
        b"\\",
        b"\\ud800",
        b"#",
        b"--",
        b"1e999",
        b"NaN",
    ),
    *(
        b"-1",
        b"null",
        b"true",
        b"9" * 5000,
        b"9" * 400,
        b"[" * 3000,
        b"../../etc/passwd",
        b"\xe2\x80\xae",
        b"\x1b[31m",
    ),
    *(b"1e999", b" " * 1000, b"x" * 200_000, "é".encode("latin-1"), b"{{7*7}}", b"=1+1", b"\xf0\x9f\x98\x80"),
)
"""Pieces that readers have stumbled over elsewhere."""


@contextmanager
def raises_only(*errors: type[Exception], size: int = 0) -> Iterator[None]:
    """What is inside ends in bearable time for so many bytes; it may raise these errors, with words."""
    began, said = time.process_time(), "nothing was wrong"
    try:
        yield
    except errors as error:
        said = str(error)
    assert said, "an error without a word"
    took = time.process_time() - began
    most = LONGEST + PER_BYTE * size
    assert took < most, f"took {took:.1f} s of the processor for {size:,} bytes"


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A file with up to four places of damage: cut, cut out, doubled, or something odd put in."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(("put", "put", "put", "over", "cut out", "double", "end", "flip"))):
            case "put":
                data[at:at] = draw(st.sampled_from(SPLINTERS))
            case "over":
                piece = draw(st.sampled_from(SPLINTERS))
                data[at : at + len(piece)] = piece
            case "cut out":
                del data[at : at + draw(st.integers(1, 40))]
            case "double":
                data[at:at] = data[at : at + draw(st.integers(1, 200))]
            case "end":
                del data[at:]
            case "flip" if at < len(data):
                data[at] ^= 1 << draw(st.integers(0, 7))
            case _:
                pass
    return bytes(data)


ODD_TEXTS = (
    *(
        "",
        " ",
        "\0",
        "\ud800",
        "a\udc00b",
        "\u202e",
        "\u2028",
        "\x1b[2J",
        "NaN",
        "null",
        "-1",
        "1e400",
        "1_0",
    ),
    *(
        "<script>",
        "He",
        "She",
        "yes",
        "no",
        "…" * 50,
        "A" * 5_000,
        "ﷺ" * 200,
        "e" + "\u0301" * 500,
        "0" * 400,
    ),
    *("1234567812345670", "{text}", "{{7*7}}", "\\", "https://u:p@h/", "१२३", "²", "①", "0" * 400, "1_0"),
)
odd_texts = st.one_of(st.text(max_size=30), st.sampled_from(ODD_TEXTS))
odd_leaves: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from((10**400, -(10**400), 1e308, float("nan"), float("inf"))),
    odd_texts,
)
odd_json: st.SearchStrategy[Any] = st.recursive(
    odd_leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(odd_texts, inner, max_size=4)),
    max_leaves=12,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything inside a JSON value, the value itself left out."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from places(one, (*path, key))


@st.composite
def changed(draw: st.DrawFn, whole: Any) -> Any:
    """A JSON value in which one or two places hold something else, or nothing."""
    import copy

    value = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, 2))):
        ways = list(places(value))
        if not ways:
            return value
        *way, last = draw(st.sampled_from(ways))
        holder = value
        for step in way:
            holder = holder[step]
        if draw(st.booleans()):
            del holder[last]
        else:
            holder[last] = draw(odd_json)
    return value
