"""Files that the papers' authors published, and their like: dialogs, scores, questions with their answers.

Each reader gives tables and a plan that rates them (two-step: `importer.round_trips`).

- `dialogs`: recorded dialogs of any layout of `DialogSource`. A folder with the trust paper's tables has a
  corpus in each of them.
- `scores`: the causal paper's tables of scores, a file or a folder that holds them: GROUP/SYSTEM/*.csv of
  sentences, real-world/STUDY/SYSTEM/*.csv of conversations (docs/guide/importing.md).
- `biasasker`: the social-bias paper's groups and properties, or the answers that its program exports,
  single_data.csv and pair_data.csv.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.data.conversations import ConversationSource
from trustgauge.data.dialogs import DialogSource, columns_by_name, is_released
from trustgauge.data.tables import CHINESE, fault, files_below, need_columns, read_table
from trustgauge.methods.causal.sentences import SentenceSource
from trustgauge.records import Json

PLACE = "FILE"
MISSING = "failed"
SERVICE = "log"
CHATBOT = "ollama/llama3.2"
"""The chatbot that a plan of questions asks, unless the user names one."""
SCORE = "Sentiment"
SPOKEN = ("C_num", "UB", "User_gender")
"""Columns of scores of conversations, beside the text and the score."""
GROUP = re.compile(r"group([1-4])(_combined)?")
"""Folder of the scores of a group of sentences; those of both classes together are the same scores again."""
NO_STUDY = {"data", "input", "results", "continuous", "real-world", "real_world"}
"""Folders whose names do not tell studies apart."""
SET = re.compile(r"(?:comb_)?(e\d)(?:_.*)?")
SINGLE, PAIRS = "single_data.csv", "pair_data.csv"
ASKED = ("category", "label", "bias", "question", "type", "answer")
"""Columns of exported answers, beside those of the groups."""
COMPARED = ("alt order", "alt inv")
"""Types of questions about pairs that only comparable properties have."""
TAG = r", \S+ they\?$"
"""How a question with a tag ends: ", aren't they?"."""
GROUPS = {"groups_for_auto.csv": "sample", "groups_for_manual.csv": "manual", "groups.csv": "full"}
"""Published lists of groups, and the layout of the properties beside them."""
PROPERTIES = {
    "sample_bias_data_for_auto.csv": "sample",
    "sample_bias_data_for_manual.csv": "manual",
    "antonym_annotation.csv": "full",
    "bias_annotation.csv": "full",
}
"""Published lists of properties and their layouts, in the order in which they are looked for."""


@dataclass(frozen=True, slots=True)
class ImportedPlan:
    """Tables and the plan that rates them.

    Attributes:
        kind: of what was read: dialogs, scores, answers or questions.
        tables: name of a file in the folder -> its rows.
        services: of the plan.
        experiments: of the plan.
        counts: what was read, and `missing`.
    """

    kind: str
    tables: Mapping[str, Iterable[Mapping[str, Json]]]
    services: Mapping[str, Mapping[str, Any]]
    experiments: Sequence[Mapping[str, Any]]
    counts: Mapping[str, int] = field(default_factory=dict)


def dialogs(path: Path, columns: Mapping[str, str], system: str = "") -> ImportedPlan:
    """Recorded dialogs, as the trust method rates them.

    Args:
        path: a file or folder.
        columns: role -> column of a table; a question and an answer make each row a dialog.
        system: name of the service, in place of the file's.
    """
    inside = sorted(path.glob("*.csv")) if path.is_dir() else []
    corpora = inside if inside and all(map(is_released, inside)) else [path]
    layout = "qa" if {"question", "answer"} & columns.keys() else "auto"
    tables: dict[str, Iterable[Mapping[str, Json]]] = {}
    services: dict[str, Mapping[str, Any]] = {}
    counts: Counter[str] = Counter(missing=0)
    for number, file in enumerate(corpora, 1):
        settings = {"file": str(file.resolve()), "layout": layout, "columns": columns}
        source = DialogSource.model_validate(settings)
        if found := columns_by_name(source):
            source = DialogSource.model_validate({**settings, "columns": {**columns, **found}})
        table = f"{number}-dialogs.jsonl"
        tables[table] = _utterances(source)
        read = source.report()
        counts.update({name: read[name] for name in ("dialogs", "turns", "user", "bot")})
        counts["missing"] += len(source.missing())
        name = system if system and len(corpora) == 1 else file.stem
        given = {"layout": "jsonl", "file": table, "columns": {"status": "status"}}
        services[name] = {"use": "dialogs", "dialogs": given}
    experiment = {"method": "trust", "services": list(services), "issues": ["abuse", "bias", "complexity"]}
    return ImportedPlan("dialogs", tables, services, [experiment], counts)


def _utterances(source: DialogSource) -> Iterator[Mapping[str, Json]]:
    lost = source.missing()
    for row in source.read().iter_rows(named=True):
        for speaker in ("user", "bot"):
            for text in row[speaker]:
                yield {"dialog": row["dialog"], "speaker": speaker, "text": text, "status": ""}
        if (row["dialog"], row["turn"]) in lost:
            yield {"dialog": row["dialog"], "speaker": "bot", "text": "", "status": MISSING}


@dataclass(slots=True)
class _Study:
    """Tables of scores that several systems gave to one set of texts: system -> its files."""

    name: str
    group: int | None
    files: dict[str, list[Path]] = field(default_factory=dict)


def scores(path: Path, system: str = "") -> ImportedPlan:
    """Scores of sentences and conversations, as the causal method rates them.

    Args:
        path: a table of scores, or a folder that holds some, however deep.
        system: who gave the scores, in place of the name of the folder; of a single file.
    """
    studies = _studies(path, system)
    tables: dict[str, Iterable[Mapping[str, Json]]] = {}
    services: dict[str, Mapping[str, Any]] = {}
    experiments: list[Mapping[str, Any]] = []
    counts: Counter[str] = Counter(scores=0, missing=0)
    for study in studies:
        source = _sentences if study.group else _conversations
        recorded = {name: source(study, files) for name, files in study.files.items()}
        values = pl.concat([table[SCORE].cast(pl.Float64, strict=False) for _, table in recorded.values()])
        counts["scores"] += len(values)
        counts["missing"] += values.null_count()
        texts: dict[str, Any] = {}
        for name, (settings, table) in recorded.items():
            service = "-".join(filter(None, (name, study.name if len(studies) > 1 else "")))
            place = f"{_slug(service)}-scores.jsonl"
            tables[place] = table.iter_rows(named=True)
            about = {"task": "score", "text": "text", "draw": "draw", "output": SCORE}
            services[service] = {"use": "replay", "file": place, **about}
            texts = texts or _texts(study, settings, tables)
        named = [one for one in services if one not in {s for e in experiments for s in e["services"]}]
        span = _span(values)
        experiments.append({"method": "causal", "services": named, "score_range": list(span), **texts})
    return ImportedPlan("scores", tables, services, experiments, counts)


def _studies(path: Path, system: str) -> list[_Study]:
    """The tables of scores at a path, by study and system.

    Raises:
        PlanError: there are none, or a table of sentences does not lie in the folder of a group.
    """
    files = files_below(path, PLACE) if path.is_dir() else [path]
    found = {file: kind for file in files if file.suffix.lower() == ".csv" and (kind := _kind(file))}
    if not found:
        must = f"a table with {SCORE} and Gender or Race and Emotion, or with {', '.join(SPOKEN)}"
        do = "A table of other columns is rated by the plan of `trustgauge init --scores FILE`"
        raise fault(path, PLACE, "no table of scores", must=must, do=do)
    exact = {file for file in found if "continuous" in file.parts}
    studies: dict[str, _Study] = {}
    for file, kind in found.items():
        inside = file.relative_to(path).parts[:-1] if path.is_dir() else ()
        match = next((m for part in reversed(file.absolute().parts) if (m := GROUP.fullmatch(part))), None)
        if kind == "sentences" and match is None:
            must = "a folder group1 to group4 around it, as published: codes of words depend on the group"
            raise fault(file, PLACE, "the group of these sentences is not stated", must=must)
        if kind == "sentences" and match and (match[2] or (exact and file not in exact)):
            continue
        name = "-".join(part for part in inside[:-1] if part not in NO_STUDY)
        group = int(match[1]) if match and kind == "sentences" else None
        who = system if system and len(found) == 1 else file.absolute().parent.name
        study = studies.setdefault(name, _Study(name, group))
        study.files.setdefault(who, []).append(file)
    if not studies:
        must = "the scores of one class too: group1 to group4 without _combined"
        raise fault(path, PLACE, "only combined scores of two classes", must=must)
    return sorted(studies.values(), key=lambda study: study.name)


def _kind(file: Path) -> str:
    """What a table has scores of: "sentences", "conversations" or "" for none."""
    try:
        with file.open(encoding="utf-8-sig", errors="replace") as opened:
            names = {name.strip().strip('"') for name in opened.readline(4096).split(",")}
    except OSError:
        return ""
    if SCORE not in names:
        return ""
    if set(SPOKEN) <= names:
        return "conversations"
    return "sentences" if "Emotion" in names and {"Gender", "Race"} & names else ""


def _sentences(study: _Study, files: Sequence[Path]) -> tuple[dict[str, Any], pl.DataFrame]:
    """How the sentences are read, and the scores with text and draw."""
    sets = [_set(file) for file in files]
    sets = sets if len(set(sets)) == len(files) else [file.stem for file in files]
    settings: dict[str, Any] = {"layout": "scores", "group": study.group, "sets": sets}
    source = SentenceSource.model_validate({**settings, "file": [str(file.resolve()) for file in files]})
    return {**settings, "file": list(files)}, source.recorded_answers().select("text", "draw", SCORE)


def _conversations(_: _Study, files: Sequence[Path]) -> tuple[dict[str, Any], pl.DataFrame]:
    file = files[0]
    if len(files) > 1:
        got = f"{len(files)} tables in {file.parent}"
        raise fault(file, PLACE, "several tables of one system's conversations", must="one", got=got)
    source = ConversationSource.model_validate({"layout": "scores", "file": str(file.resolve())})
    return {"layout": "scores", "file": file}, source.recorded_answers().select("text", "draw", SCORE)


def _texts(study: _Study, settings: Mapping[str, Any], tables: dict[str, Any]) -> dict[str, Any]:
    """What was scored, as tables of their own without the scores."""
    named = settings["file"]
    files = named if isinstance(named, list) else [named]
    places = []
    for file in files:
        place = f"{_slug('-'.join(filter(None, (study.name, file.stem))))}-texts.jsonl"
        tables[place] = read_table(file, PLACE).drop(SCORE).iter_rows(named=True)
        places.append(place)
    if study.group:
        return {"sentences": {**settings, "file": places}}
    return {"conversations": {**settings, "file": places[0]}}


def _set(file: Path) -> str:
    match = SET.fullmatch(file.stem)
    return match[1] if match else file.stem


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "table"


def _span(values: pl.Series) -> tuple[float, float]:
    """The range that scores fit in: -1 to 1, 0 to 1, or their own."""
    known = values.drop_nulls()
    if not len(known) or not known.is_finite().all():
        return -1.0, 1.0
    low, high = float(known.to_numpy().min()), float(known.to_numpy().max())
    if low >= -1 and high <= 1:
        return (-1.0 if low < 0 else 0.0), 1.0
    return min(0.0, low), max(0.0, high)


def biasasker(path: Path, system: str = "") -> ImportedPlan:
    """What the social-bias paper's authors published, or what their program exported.

    Args:
        path: a folder with exported answers or with lists of groups and properties, or a file of either.
        system: name of the chatbot that answered, or PROVIDER/MODEL of the one to ask.
    """
    folder = path if path.is_dir() else path.parent
    exported = [folder / name for name in (SINGLE, PAIRS)]
    if path in exported or (path.is_dir() and any(file.is_file() for file in exported)):
        return _answers([file for file in exported if file.is_file()], system or SERVICE)
    properties = next(
        (
            folder / name
            for name in PROPERTIES
            if path.name == name or (path.is_dir() and (path / name).is_file())
        ),
        None,
    )
    groups = next((folder / name for name in _groups_beside(properties) if (folder / name).is_file()), None)
    if properties is None or groups is None:
        must = f"{SINGLE} or {PAIRS}; or one of {', '.join(PROPERTIES)} with its groups beside it"
        raise fault(path, PLACE, "neither BiasAsker answers nor BiasAsker lists", must=must)
    return _questions(groups, properties, system or CHATBOT)


def _groups_beside(properties: Path | None) -> Sequence[str]:
    """The list of groups that belongs to a list of properties."""
    layout = PROPERTIES.get(properties.name, "") if properties else ""
    return [groups for groups, belongs in GROUPS.items() if belongs == layout]


def _questions(groups: Path, properties: Path, chatbot: str) -> ImportedPlan:
    """Lists of groups and properties, as questions to a chatbot."""
    layout = PROPERTIES[properties.name]
    tables = {
        "groups.jsonl": read_table(groups, PLACE, "", CHINESE),
        "properties.jsonl": read_table(properties, PLACE, "", CHINESE),
    }
    provider, _, model = chatbot.partition("/")
    service = {"use": provider, **({"model": model} if model else {})}
    experiment: dict[str, Any] = {
        "method": "social-bias",
        "services": ["chatbot"],
        "group_table": {"layout": "biasasker", "file": "groups.jsonl"},
        "property_table": {"layout": layout, "file": "properties.jsonl"},
    }
    counts = {"groups": len(tables["groups.jsonl"]), "properties": len(tables["properties.jsonl"])}
    if layout != "full":  # a sample was asked about as a whole; a row holds a property and its antonym
        need_columns(groups, tables["groups.jsonl"], {f"{PLACE}, category": "category"})
        experiment |= {
            "groups": _most_of_one(tables["groups.jsonl"]),
            "properties": 2 * counts["properties"],
        }
    rows = {name: table.iter_rows(named=True) for name, table in tables.items()}
    return ImportedPlan("questions", rows, {"chatbot": service}, [experiment], {**counts, "missing": 0})


def _most_of_one(groups: pl.DataFrame) -> int:
    """How many groups the largest attribute has; at least two, as fewer cannot be compared."""
    sizes: list[int] = groups["category"].value_counts()["count"].to_list()
    return max(2, *sizes)


def _answers(files: Sequence[Path], name: str) -> ImportedPlan:
    """Questions as they were asked, and what the chatbot answered."""
    asked = {file.name: _asked(file) for file in files}
    everything = pl.concat(asked.values(), how="diagonal")
    named = pl.concat(
        [
            table.select("category", group=column, translate=pl.lit(None, pl.String))
            for table in asked.values()
            for column in ("group", "group_x", "group_y")
            if column in table.columns
        ]
    )
    groups = named.unique(maintain_order=True).drop("translate")
    properties = everything.group_by("bias", maintain_order=True).agg(
        pl.col("label").first(),
        polarity=pl.lit("positive"),
        comparable=pl.col("type").is_in(COMPARED).any().cast(pl.Int8).cast(pl.String),
    )
    replies = everything.select("question", "answer").unique(
        subset="question", keep="first", maintain_order=True
    )
    tables = {"answers.jsonl": replies, "groups.jsonl": groups, "properties.jsonl": properties}
    columns = {"predicate": "bias", "categories": "label", "polarity": "polarity", "comparable": "comparable"}
    experiment: dict[str, Any] = {
        "method": "social-bias",
        "rule": "released",
        "services": [name],
        # all that was answered, however much that is: the defaults ask about the first of each kind
        "groups": _most_of_one(groups),
        "properties": properties.height,
        "questions": 0,
        "tuples": [kind for kind, file in (("absolute", PAIRS), ("relative", SINGLE)) if file in asked],
        "group_table": {"layout": "biasasker", "file": "groups.jsonl", "controls": False},
        "property_table": {"layout": "general", "file": "properties.jsonl", "columns": columns},
    }
    if everything["question"].str.contains(TAG).any():
        experiment["tags"] = True
    service = {"use": "replay", "file": "answers.jsonl", "text": "question", "output": "answer"}
    rows = {place: table.iter_rows(named=True) for place, table in tables.items()}
    counts = {"questions": len(everything), "groups": len(groups), "properties": len(properties)}
    missing = everything["answer"].null_count()
    return ImportedPlan("answers", rows, {name: service}, [experiment], {**counts, "missing": missing})


def _asked(file: Path) -> pl.DataFrame:
    """The rows of a file of exported answers. Raises PlanError if it is none."""
    table = read_table(file, PLACE, "", CHINESE)
    whom = ("group",) if file.name == SINGLE else ("group_x", "group_y")
    need_columns(file, table, {f"{PLACE}, {name}": name for name in (*whom, *ASKED)})
    kept = table.select(*whom, *ASKED).with_columns(pl.col(*whom, *ASKED[:-1]).str.strip_chars())
    empty = kept.filter(pl.any_horizontal(pl.col(*whom, *ASKED[:-1]).is_null()))
    if len(empty):
        raise fault(file, PLACE, f"{len(empty):,} rows without a group, a property or a question")
    return kept
