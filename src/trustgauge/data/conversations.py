"""Tables of conversations between users and bots (causal 2.2).

Utterances come from a file of one of three layouts; consecutive utterances of a speaker are
joined; a user's text is put behind a prefix that tells a gender. What the user said and what the
bot said are separate data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import accumulate
from typing import Annotated, Any, Literal, Self

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from trustgauge.data.dialog_statistics import GENDERS, dialog_statistics
from trustgauge.data.tables import check_content, fault, need_columns, read_table, rows_in_words, short
from trustgauge.errors import Fault, PlanError, raise_faults
from trustgauge.plan import PlanPath
from trustgauge.records import Json

Layout = Literal["allure", "unibot", "scores", "general"]
Role = Literal["conversation", "speaker", "gender", "text"]
Coded = Literal["speaker", "gender"]
Gender = Literal["male", "female", "NA"]
Speaker = Literal["user", "bot"]

PLACE = "conversations"  # the key of a plan's experiment under which the settings of a source stand
FIELD = "|"  # stands between the fields of a text in the layout "unibot"
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
    file: PlanPath = Field(description="CSV, TSV or JSON lines, UTF-8")
    separator: str = Field(
        "", description="Of a CSV file; by default that of its header: comma, semicolon or tab"
    )
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

    @field_validator("content")
    @classmethod
    def _the_same_file(cls, value: str, info: ValidationInfo) -> str:
        file = info.data.get("file")
        if file is None:
            return value
        return check_content([file], value, f"{PLACE}.file")

    @model_validator(mode="after")
    def _readable(self) -> Self:
        raise_faults((*self._column_faults(), *self._scored_faults(), *self._class_faults()))
        said = read_conversations(self)[0]
        heard = set(said["speaker"].unique())
        silent = [one for one in self.speakers if one not in heard]
        if silent:
            raise fault(
                self.file,
                f"{PLACE}.speakers",
                f"no texts of the {' and the '.join(silent)}",
                got="texts of the " + " and the ".join(sorted(heard)) if heard else "no texts",
                do="List the speakers in `speakers`, or correct `columns` and `codes`",
            )
        users = set(said.filter(pl.col("speaker") == "user")["gender"])
        bare = sorted(users - set(self._classes))
        if bare and "user" in self.speakers and self.proxy == "assigned":
            place, must = f"{PLACE}.prefixes.{bare[0]}", "a text to stand before what these users say"
            do = "Give it, or set `drop_na = true`" if bare == ["NA"] else "Give it"
            raise PlanError.of(place, "users of this class have no prefix", must=must, do=do)
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
            yield Fault(f"{PLACE}.by_order", "the genders are in a column", do=do)
        sizes = [size for _, size in self.by_order]
        if sizes and not sum(sizes):
            yield Fault(f"{PLACE}.by_order", "no shares", must="a number above 0")
        if len(set(self.prefixes.values())) < len(self.prefixes):
            must = "another text for each class"
            yield Fault(f"{PLACE}.prefixes", "two classes have the same prefix", must=must)
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

    def recorded_answers(self) -> pl.DataFrame:
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


@lru_cache(maxsize=4)
def join_consecutive(source: ConversationSource) -> pl.DataFrame:
    """Utterances after consecutive ones of a speaker were joined."""
    said = read_conversations(source)[0]
    if source.merge == "none":
        return said
    changes = pl.col("speaker") != pl.col("speaker").shift()
    if source.merge == "within":
        changes |= pl.col("conversation") != pl.col("conversation").shift()
    run = changes.fill_null(True).cast(pl.Int64).cum_sum()
    return (
        said.group_by(run.alias("run"), maintain_order=True)
        .agg(pl.col("conversation", "speaker", "gender").first(), pl.col("text").str.join(" "))
        .drop("run")
    )


@lru_cache(maxsize=4)
def read_conversations(source: ConversationSource) -> tuple[pl.DataFrame, Mapping[str, int]]:
    """Utterances as they came, checked, a conversation's rows together; and how many rows were what.

    Raises:
        PlanError: the file is not as the settings say, or not the file that they were checked with.
    """
    check_content([source.file], source.content, f"{PLACE}.file")
    table = read_table(source.file, f"{PLACE}.file", source.separator)
    named = {role: column for role, column in source.columns.items() if column}
    if source.layout == "scores" and named["text"] not in table.columns:
        table = table.with_columns(pl.format("row {}", pl.int_range(1, pl.len() + 1)).alias(named["text"]))
    need_columns(source.file, table, {f"{PLACE}.columns.{role}": column for role, column in named.items()})
    said = table.select(
        pl.int_range(1, pl.len() + 1).alias("row"),
        *(pl.col(column).str.strip_chars().alias(role) for role, column in named.items()),
    )
    if source.layout == "unibot":
        words = [_words(text, source) for text in said["text"]]
        said = said.with_columns(pl.Series("text", words, dtype=pl.String))
    said = said.filter(pl.col("text").is_not_null() & (pl.col("text") != ""))
    known = len(said)
    said = _coded(source, _identified(source, said))
    said = said.sort(pl.col("row").min().over("conversation"), maintain_order=True)
    if source.drop_na:
        said = said.filter(pl.col("gender") != "NA")
    said = said.select("row", "conversation", "speaker", "gender", "text")
    counts = {
        "rows": len(table),
        "without_text": len(table) - known,
        "without_gender": known - len(said),
        "utterances": len(said),
        "conversations": said["conversation"].n_unique(),
    }
    return said, counts


def _words(text: str | None, source: ConversationSource) -> str:
    """The text of fields: intents as the words they stand for, end markers left out."""
    fields = [field.strip() for field in (text or "").split(FIELD)]
    ends = "|".join(re.escape(one) for one in source.end_markers if one)
    if ends:
        fields = [re.sub(rf"(?:^|\s+)(?:{ends})$", "", field, flags=re.IGNORECASE) for field in fields]
    return " ".join(filter(None, (source.intents.get(field, field).strip() for field in fields)))


def _identified(source: ConversationSource, said: pl.DataFrame) -> pl.DataFrame:
    """Conversations by readable ids: C01, C02, ... where the file numbers them, else as it names them."""
    lost = said.filter(pl.col("conversation").is_null() | (pl.col("conversation") == ""))
    if len(lost):
        place = f"{PLACE}.columns.conversation"
        raise fault(source.file, place, f"no conversation in {rows_in_words(lost['row'].to_list())}")
    names = said["conversation"].unique(maintain_order=True).to_list()
    if all(re.fullmatch(r"[0-9]{1,9}(\.0+)?", name) for name in names):
        width = max(2, *(len(str(_whole(name))) for name in names)) if names else 2
        ids = {name: f"C{_whole(name):0{width}}" for name in names}
        readable = pl.col("conversation").replace_strict(ids, return_dtype=pl.String)
        return said.with_columns(readable, named=pl.col("conversation"))
    return said.with_columns(named=pl.col("conversation"))


def _whole(name: str) -> int:
    return int(float(name))


def _coded(source: ConversationSource, said: pl.DataFrame) -> pl.DataFrame:
    """Speakers and genders in our words; the gender of a conversation is that of its user."""
    said = said.with_columns(_meanings(source, said, "speaker"))
    if "gender" not in said.columns:
        return said.with_columns(pl.Series("gender", _by_order(source, said), dtype=pl.String))
    said = said.with_columns(pl.when(pl.col("gender") == "").then(None).otherwise("gender").alias("gender"))
    said = said.with_columns(_meanings(source, said, "gender"))
    coded = said.filter(pl.col("gender") != "NA")
    kinds = coded.group_by("conversation", maintain_order=True).agg(
        pl.col("named").first(), pl.col("gender", "row")
    )
    for _, name, genders, rows in kinds.iter_rows():
        odd = next((row for gender, row in zip(genders, rows, strict=True) if gender != genders[0]), None)
        if odd is not None:
            raise fault(
                source.file,
                f"{PLACE}.columns.gender",
                f"the user of conversation {short(name)} has two genders, in rows {rows[0]} and {odd}",
                must="one gender per conversation",
            )
    of = dict(coded.select("conversation", "gender").iter_rows())
    return said.with_columns(
        gender=pl.col("conversation").replace_strict(of, default="NA", return_dtype=pl.String)
    )


def _meanings(source: ConversationSource, said: pl.DataFrame, role: Coded) -> pl.Series:
    """What the cells of a column mean; a user without a gender is NA."""
    codes = {cell.strip().casefold(): meaning for cell, meaning in source.codes[role].items()}
    means: dict[str | None, str] = {None: "NA"} if role == "gender" else {}
    unknown: dict[str | None, list[int]] = {}
    found: list[str | None] = []
    for row, cell in said.select("row", role).iter_rows():
        if cell not in means:
            key = re.sub(r"\.0+$", "", cell or "").casefold()
            if key not in codes:
                unknown.setdefault(cell, []).append(row)
                continue
            means[cell] = codes[key]
        found.append(means[cell])
    if unknown:
        raise PlanError(
            tuple(
                Fault(
                    f"{PLACE}.codes.{role}",
                    f"{source.file.name}: unknown {role} in {rows_in_words(rows)}",
                    must="one of: " + ", ".join(source.codes[role]),
                    got=short(cell) if cell else "an empty cell",
                    do=f"Say what it means in `codes.{role}`, or correct the file",
                )
                for cell, rows in list(unknown.items())[:5]
            )
        )
    return pl.Series(role, found, dtype=pl.String)


def _by_order(source: ConversationSource, said: pl.DataFrame) -> list[str]:
    """Genders of rows whose table has none: NA, or shares of classes by order of conversations."""
    if not source.by_order:
        return ["NA"] * len(said)
    names = said["conversation"].unique(maintain_order=True).to_list()
    total = sum(size for _, size in source.by_order)
    # With as many conversations as the shares add up to, they are exact counts.
    ends = [round(end * len(names) / total) for end in accumulate(size for _, size in source.by_order)]
    of = {
        name: next(one for (one, _), end in zip(source.by_order, ends, strict=True) if place < end)
        for place, name in enumerate(names)
    }
    return [of[name] for name in said["conversation"]]
