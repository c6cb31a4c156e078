"""The paper's judge with vectors: similarity methods 2 to 5 (social-bias 3.5), by vectors that users bring.

Two kinds, both on this machine: a text file of word vectors, as word2vec and GloVe write them (a word and
its numbers a line, perhaps after a line with their counts), for the three word measures; and a folder in
the form of Hugging Face or sentence-transformers, for whole sentences. Nothing is downloaded, and a model
runs no code of its own.

`trustgauge judge-check embedding:PATH TABLE` measures it. None of the measures sees negation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from trustgauge.data.tables import check_content, fault
from trustgauge.errors import PlanError
from trustgauge.methods.social_bias.judges.dispatch import judge
from trustgauge.methods.social_bias.judges.protocol import PLACE as JUDGE_PLACE
from trustgauge.methods.social_bias.judges.protocol import Groups, Lists, LocalJudge
from trustgauge.methods.social_bias.judges.sentences import model_files, sentence_vectors
from trustgauge.methods.social_bias.judges.similarity import Similarity, Vectors
from trustgauge.records import Json

WORD_MEASURES = ("word-cosine", "n-gram-cosine", "with-position")
PLACE = "vectors"
MOST_NUMBERS = 400_000_000  # of a file: words times dimensions, 1.6 GB

Measure = Literal["word-cosine", "n-gram-cosine", "with-position", "sentence"]


class Embedding(LocalJudge, BaseModel):
    """The paper's judge with similarities of vectors in place of word 3-grams.

    Attributes:
        vectors: a text file of word vectors, or a folder with a model of sentences.
        similarity: by default word-cosine for a file; for a folder only sentence is possible.
        as_printed: formula 4 as the paper prints it, which rewards distance.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    use: Literal["embedding"] = Field("embedding", description="Kind of judge")
    vectors: Path = Field(
        description="Text file of word vectors, or folder of a sentence model, beside the plan"
    )
    similarity: Measure | None = Field(
        None, description="word-cosine, n-gram-cosine or with-position of a file; sentence of a folder"
    )
    as_printed: bool = Field(True, description="with-position: reward distance, as the paper prints it")
    name: ClassVar[str] = "embedding"
    _expressions: Lists | None = PrivateAttr(None)
    # Declared after `vectors`, whose checked value it needs.
    content: str = Field(
        "", validate_default=True, description="Hash of the vectors, filled in; refuses changed ones"
    )

    @field_validator("vectors")
    @classmethod
    def _from_plan(cls, value: Path, info: ValidationInfo) -> Path:
        path = Path((info.context or {}).get("folder", ""), value).expanduser().absolute()
        try:
            path.stat()
        except OSError as error:
            must = "a text file of word vectors, or a folder with a model of sentences"
            what, got = "no such file or folder", error.strerror or ""
            raise fault(path, PLACE, what, must=must, got=got) from None
        return path

    @field_validator("content")
    @classmethod
    def _the_same_vectors(cls, value: str, info: ValidationInfo) -> str:
        place = info.data.get("vectors")
        if place is None:
            return value
        files = model_files(place, PLACE) if place.is_dir() else [place]
        return check_content(files, value, PLACE) if files else value

    @model_validator(mode="after")
    def _fits(self) -> Self:
        whole = self.vectors.is_dir()
        if self.similarity is not None and (self.similarity == "sentence") != whole:
            kind, must = ("a folder", "sentence") if whole else ("a file of words", ", ".join(WORD_MEASURES))
            got = self.similarity
            raise PlanError.of("similarity", f"{kind} has no such similarity", f"one of: {must}", got)
        return self

    @classmethod
    def from_argument(cls, argument: str, expressions: Lists | None = None) -> Self:
        """The judge by PATH, or by SIMILARITY:PATH.

        Raises:
            PlanError: there are no vectors, or they have no such similarity.
        """
        similarity, place = "", argument
        if argument.startswith(WORD_MEASURES):
            similarity, _, place = argument.partition(":")
        if not place:
            do = "Example: embedding:glove.txt"
            raise PlanError.of(JUDGE_PLACE, "the judge embedding needs vectors", "embedding:PATH", do=do)
        made = cls.model_validate({"vectors": place, "similarity": similarity or None})
        made._expressions = expressions
        return made

    @property
    def measure(self) -> Measure:
        """The similarity in use."""
        return self.similarity or ("sentence" if self.vectors.is_dir() else "word-cosine")

    def identity(self) -> Mapping[str, Json]:
        """The settings, with the content of the vectors in place of where they lie."""
        return {**self.model_dump(mode="json", exclude={"vectors", "similarity"}), "similarity": self.measure}

    def by(self) -> Similarity:
        """The similarity, its vectors loaded.

        Raises:
            PlanError: they cannot be read.
            MissingPartError: a model's libraries are not installed.
        """
        state = tuple((one.name, one.stat().st_mtime_ns) for one in _files(self.vectors))
        return Similarity(self.measure, _loaded(self.vectors, state), as_printed=self.as_printed)

    def verdicts(
        self, answers: pl.DataFrame, groups: Groups, replies: Sequence[str | None] = ()
    ) -> pl.Series:
        """What each answer says (`protocol.Judge`)."""
        by = self.by()
        return judge(answers, groups, "published", expressions=self._expressions, similarity=by)["verdict"]


def _files(place: Path) -> Sequence[Path]:
    return model_files(place, PLACE) if place.is_dir() else [place]


@lru_cache(maxsize=2)
def _loaded(place: Path, _state: tuple[tuple[str, int], ...]) -> Vectors:
    return sentence_vectors(place, PLACE) if place.is_dir() else word_vectors(place)


def word_vectors(file: Path) -> Vectors:
    """The vectors of a text file as a function of words; a word that is not there is all zero.

    A word is looked up as it is, then in lower case. A first line of two numbers (how many words, how
    many dimensions, as word2vec writes) is skipped. Of a word that stands twice the first counts.

    Raises:
        PlanError: a line is no word and its numbers, or lines differ in length.
    """
    place, values, size = _read(file)
    table = np.frombuffer(values, dtype=np.float32).reshape(-1, size)
    nothing = np.zeros(size)

    def vectors(texts: Sequence[str]) -> NDArray[np.float64]:
        rows = [place.get(one, place.get(one.lower(), -1)) for one in texts]
        found = [table[row].astype(np.float64) if row >= 0 else nothing for row in rows]
        return np.stack(found) if found else np.zeros((0, size))

    return vectors


def _read(file: Path) -> tuple[dict[str, int], bytes, int]:
    """Word -> its row; the numbers of all rows; how many a row has."""
    place: dict[str, int] = {}
    values = bytearray()
    size = 0
    try:
        with file.open(encoding="utf-8-sig", errors="replace", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                parts = line.rstrip().split(" ")
                if (
                    number == 1 and len(parts) == 2 and line.replace(" ", "").strip().isdecimal()
                ) or not line.strip():
                    continue
                size = size or len(parts) - 1
                row = _numbers(file, number, parts, size)
                # words of some tables hold spaces of their own
                word = " ".join(parts[: len(parts) - size])
                if word not in place:
                    place[word] = len(place)
                    values += row.tobytes()
                if len(values) > 4 * MOST_NUMBERS:
                    raise fault(file, PLACE, "too many vectors", must=f"at most {MOST_NUMBERS:,} numbers")
    except OSError as error:
        raise fault(file, PLACE, "the file cannot be read", got=error.strerror or "") from None
    if not place:
        raise fault(file, PLACE, "the file has no vectors", must="a word and its numbers on each line")
    return place, bytes(values), size


def _numbers(file: Path, number: int, parts: list[str], size: int) -> NDArray[np.float32]:
    """The numbers at the end of a line."""
    must = f"a word and {size} numbers, with one space between them" if size else "a word and its numbers"
    try:
        row = np.array(parts[len(parts) - size :], dtype=np.float32)
    except ValueError:
        row = np.full(1, np.nan, dtype=np.float32)
    if not size or len(parts) <= size or not np.isfinite(row).all():
        raise fault(file, PLACE, f"line {number} is no vector", must=must)
    return row
