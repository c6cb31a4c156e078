"""Tables of conversations between users and bots (causal 2.2).

Utterances come from a file of one of three layouts; consecutive utterances of a speaker are
joined; a user's text is put behind a prefix that tells a gender. What the user said and what the
bot said are separate data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from trustgauge.data.dialog_statistics import GENDERS, dialog_statistics
from trustgauge.data.tables import check_content, fault, read_table
from trustgauge.data.utterances import PLACE, join_consecutive, read_conversations
from trustgauge.errors import Fault, PlanError
from trustgauge.records import Json

Layout = Literal["allure", "unibot", "scores", "general"]
Role = Literal["conversation", "speaker", "gender", "text"]
Coded = Literal["speaker", "gender"]
Gender = Literal["male", "female", "NA"]
Speaker = Literal["user", "bot"]

ROLES: tuple[Role, ...] = ("conversation", "speaker", "gender", "text")
CODED: tuple[Coded, ...] = ("speaker", "gender")
COLUMNS: Mapping[str, Mapping[Role, str]] = {
    "allure": {"conversation": "C_num", "speaker": "UB", "gender": "User_gender", "text": "Original"},
    "unibot": {"conversation": "C_num", "speaker": "UB", "gender": "", "text": "Original"},
    "scores": {"conversation": "C_num", "speaker": "UB", "gender": "User_gender", "text": "Text"},
    "general": {"conversation": "conversation", "speaker": "speaker", "gender": "gender", "text": "text"},
}
"""The columns of each layout; the prefix is put by us, so the columns that hold it are not read, but
those of `scores` were scored with it."""
AS_SCORED: Mapping[str, str] = {"proxy": "assigned", "merge": "none"}
"""Texts of the layout `scores` stay as they were scored."""
CODES: Mapping[Coded, Mapping[str, str]] = {
    "speaker": {"0": "bot", "1": "user", "bot": "bot", "chatbot": "bot", "user": "user"},
    "gender": {"0": "NA", "1": "male", "2": "female", "NA": "NA", "male": "male", "female": "female"},
}
"""What the cells mean, unless the plan says (causal 2.1, 2.2)."""
PREFIXES: Mapping[Gender, str] = {"male": "Hey boy, ", "female": "Hey girl, ", "NA": "Hey, "}
RELEASED_ORDER: tuple[tuple[Gender, int], ...] = (("NA", 11), ("male", 10), ("female", 10))
"""Classes given to users of unknown gender, in the order of their conversations (causal 2.2)."""
END_MARKERS = ("<end>", "[end]", "</s>")


class ConversationSource(BaseModel):
    """A file of conversations, and how it becomes texts to be scored.

    `proxy` tells how a user text gets its gender: `crossed` puts every user text behind every
    prefix, so that texts are compared with themselves; `assigned` (published) puts each behind the
    prefix of its own user. Bot texts have no prefix and stay with the gender of their user.

    `merge` joins consecutive utterances of a speaker by a space: `within` a conversation, or as
    `released` also across the border of two conversations, the joined text belonging to the first.
    A prefix stands once before the joined text.

    Layout `scores` takes the score files that the authors released (C_num, UB, User_gender, Text, Sentiment;
    or several systems as columns). Their texts hold the prefixes and stay as they are; where there is no
    column of texts, the number of the row stands for one. `recorded()` makes the scores answers of a
    recorded service, as that of `sentences` does.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: Layout = Field("general", description="Shape of the table")
    file: Path = Field(description="CSV, TSV or JSON lines, UTF-8")
    separator: str = Field("", description="Of a CSV file; by default the comma, and the tab for .tsv")
    columns: Mapping[Role, str] = Field(
        COLUMNS["general"], description='Column of each role; by layout; "" for none'
    )
    codes: Mapping[Coded, Mapping[str, str]] = Field(
        CODES, description="What the cells mean: cell -> user, bot; cell -> male, female, NA"
    )
    intents: Mapping[str, str] = Field({}, description="Layout unibot: intent -> the words it stands for")
    end_markers: tuple[str, ...] = Field(END_MARKERS, description="Layout unibot: left out of the texts")
    by_order: tuple[tuple[Gender, Annotated[int, Field(ge=0, le=1_000_000_000)]], ...] = Field(
        (), description="Without a column of genders: shares of classes given by order of conversations"
    )
    prefixes: Mapping[Gender, str] = Field(PREFIXES, description="Put before a user's text")
    proxy: Literal["crossed", "assigned"] = Field("crossed", description="How user texts get a gender")
    merge: Literal["within", "released", "none"] = Field("within", description="Joins consecutive utterances")
    speakers: tuple[Speaker, ...] = Field(("user", "bot"), min_length=1, description="Whose texts are scored")
    drop_na: bool = Field(False, description="Leave out users without a gender, and their prefix")
    # Declared after `file`, whose checked value it needs.
    content: str = Field(
        "", validate_default=True, description="Hash of the file, filled in; refuses a changed file"
    )

    @model_validator(mode="before")
    @classmethod
    def _by_layout(cls, data: Any) -> Any:
        """Fills in what the layout means where the plan is silent."""
        if not isinstance(data, Mapping):
            return data
        layout = str(data.get("layout", "general"))
        given = data.get("columns", {})
        filled: dict[str, Any] = {}
        if isinstance(given, Mapping):
            filled["columns"] = {**COLUMNS.get(layout, {}), **given}
        if isinstance(data.get("codes", {}), Mapping):
            filled["codes"] = {**CODES, **data.get("codes", {})}
        if layout == "unibot" and "by_order" not in data:
            filled["by_order"] = RELEASED_ORDER
        usual = AS_SCORED if layout == "scores" else {}
        return {**usual, **data, **filled}

    @field_validator("file")
    @classmethod
    def _from_plan(cls, value: Path, info: ValidationInfo) -> Path:
        return Path((info.context or {}).get("folder", ""), value).absolute()

    @field_validator("content")
    @classmethod
    def _the_same_file(cls, value: str, info: ValidationInfo) -> str:
        file = info.data.get("file")
        if file is None:
            return value
        return check_content([file], value, f"{PLACE}.file")

    @model_validator(mode="after")
    def _readable(self) -> Self:
        faults = (*self._column_faults(), *self._scored_faults(), *self._class_faults())
        if faults:
            raise PlanError(faults)
        said = read_conversations(self)[0]
        heard = set(said["speaker"].unique())
        silent = [one for one in self.speakers if one not in heard]
        if silent:
            raise fault(
                self.file,
                f"{PLACE}.speakers",
                f"no texts of the {' and the '.join(silent)}",
                got="texts of the " + " and the ".join(sorted(heard)) if heard else "no texts",
                do="Name those who speak in `speakers`, or correct `columns` and `codes`",
            )
        users = set(said.filter(pl.col("speaker") == "user")["gender"])
        bare = sorted(users - set(self._classes))
        if bare and "user" in self.speakers and self.proxy == "assigned":
            place, must = f"{PLACE}.prefixes.{bare[0]}", "a text to stand before what these users say"
            do = "Give it, or set `drop_na = true`" if bare == ["NA"] else "Give it"
            raise PlanError((Fault(place, "users of this class have no prefix", must=must, do=do),))
        return self

    def _column_faults(self) -> Iterator[Fault]:
        """Faults of the settings that say how the table is read."""
        if self.separator and len(self.separator.encode()) != 1:
            yield Fault(f"{PLACE}.separator", "no separator", must="one ASCII character", got=self.separator)
        for role in ROLES:
            if role != "gender" and not self.columns.get(role):
                yield Fault(f"{PLACE}.columns.{role}", "no column named", must="a column of the file")
        for coded in CODED:
            valid = ("user", "bot") if coded == "speaker" else GENDERS
            for cell, meaning in self.codes[coded].items():
                if meaning not in valid:
                    place = f"{PLACE}.codes.{coded}.{cell}"
                    yield Fault(place, "no such meaning", must="one of: " + ", ".join(valid), got=meaning)
        if self.intents and self.layout != "unibot":
            yield Fault(f"{PLACE}.intents", "only the layout unibot has intents", got=self.layout)

    def _scored_faults(self) -> Iterator[Fault]:
        """Faults of settings that would change the texts of score files."""
        for name, usual in AS_SCORED.items() if self.layout == "scores" else ():
            if (got := getattr(self, name)) != usual:
                what = "the texts of score files stay as they were scored"
                yield Fault(f"{PLACE}.{name}", what, must=usual, got=got)

    def _class_faults(self) -> Iterator[Fault]:
        """Faults of the settings that give classes to users."""
        if self.by_order and self.columns.get("gender"):
            do = 'Leave out `by_order`, or set `columns.gender = ""`'
            yield Fault(f"{PLACE}.by_order", "the genders stand in a column", do=do)
        sizes = [size for _, size in self.by_order]
        if sizes and not sum(sizes):
            yield Fault(f"{PLACE}.by_order", "no shares", must="a number above 0")
        if len(set(self.prefixes.values())) < len(self.prefixes):
            must = "another text for each class"
            yield Fault(f"{PLACE}.prefixes", "two classes have one prefix", must=must)
        if not self._classes:
            yield Fault(f"{PLACE}.prefixes", "no prefix", must="a text for some of: male, female, NA")
        if len(set(self.speakers)) < len(self.speakers):
            yield Fault(f"{PLACE}.speakers", "a speaker is named twice", must="user, bot or both")

    def __hash__(self) -> int:
        return hash((self.content, self.file, self.layout, self.proxy, self.merge, self.drop_na))

    @property
    def _classes(self) -> tuple[Gender, ...]:
        """Classes that have a prefix, in the order of the published codes."""
        taken = [one for one in PREFIXES if one in self.prefixes]
        return tuple(one for one in taken if not (self.drop_na and one == "NA"))

    def identity(self) -> dict[str, Json]:
        """The settings, with the content of the file in place of where it lies."""
        return self.model_dump(mode="json", exclude={"file"})

    def utterances(self, *, merged: bool = True) -> pl.DataFrame:
        """What was said, in order, without prefix.

        Args:
            merged: after consecutive utterances were joined as `merge` tells.

        Returns:
            A row for each utterance: `conversation` (readable id), `speaker`, `gender` (of the
            user of its conversation: "male", "female", "NA") and `text`.
        """
        said = join_consecutive(self) if merged else read_conversations(self)[0]
        return said.select("conversation", "speaker", "gender", "text")

    def recorded(self) -> pl.DataFrame:
        """The table as it is, with the columns `text` and `draw` that a recorded service needs.

        Rows that are no texts to be scored are left out. Only the layout `scores` keeps texts as they were
        scored, so only its tables are recorded services.
        """
        said = read_conversations(self)[0]
        spoken = pl.concat([said.filter(pl.col("speaker") == one) for one in self.speakers])
        drawn = spoken.select(
            "row", "text", pl.int_range(pl.len(), dtype=pl.Int64).over("text").alias("draw")
        )
        table = read_table(self.file, f"{PLACE}.file", self.separator).drop("text", "draw", strict=False)
        rows = table.with_columns(row=pl.int_range(1, pl.len() + 1))
        return rows.join(drawn, on="row", how="inner", maintain_order="left").drop("row")

    def probes(self) -> pl.DataFrame:
        """The texts to be scored: probe columns without `draw`, and factors, user texts first."""
        numbered = self.utterances().with_columns(
            number=pl.int_range(1, pl.len() + 1).over("conversation", "speaker")
        )
        width = max(3, len(str(numbered["number"].max())))
        numbered = numbered.with_columns(
            number=pl.col("number").cast(pl.String).str.zfill(width), initial=pl.col("speaker").str.head(1)
        )
        frames = [self._spoken(numbered.filter(pl.col("speaker") == one), one) for one in self.speakers]
        return pl.concat(frames)

    def _spoken(self, said: pl.DataFrame, speaker: Speaker) -> pl.DataFrame:
        """Probes of what one speaker said."""
        crossed = speaker == "user" and self.proxy == "crossed"
        classes = pl.lit(list(self._classes), dtype=pl.List(pl.String))
        with_class = said.with_columns(person=classes if crossed else pl.col("gender"))
        if crossed:
            with_class = with_class.explode("person")
        message = pl.col("text")
        if speaker == "user" and self.layout != "scores":
            message = pl.col("person").replace_strict(dict(self.prefixes), return_dtype=pl.String) + message
        return with_class.select(
            id=pl.format("c{}-{}-{}-{}", "initial", "conversation", "number", "person"),
            message=message,
            session=pl.lit(""),
            turn=pl.lit(0, dtype=pl.Int64),
            block=pl.lit(f"conversation-{speaker}/all"),
            frame=pl.format("{}-{}{}", "conversation", "initial", "number"),
            person=pl.col("person"),
            gender=pl.col("person"),
            race=pl.lit("NA"),
            word=pl.lit(""),
            valence=pl.lit(""),
            cluster=pl.col("conversation"),
            covariates=pl.lit(""),
        )

    def statistics(self) -> list[dict[str, Json]]:
        """Words, stop words, utterances and turns; see `dialog_statistics`."""
        merged = None if self.merge == "none" else self.utterances()
        put = () if self.layout == "scores" else self._classes
        prefixes: dict[str, str] = {name: self.prefixes[name] for name in put}
        return dialog_statistics(self.utterances(merged=False), merged, prefixes)

    def counts(self) -> dict[str, int]:
        """Rows of the file, rows left out without text and without a gender, and what remains."""
        return dict(read_conversations(self)[1])
