"""The verb init: write a plan to start from, for whoever has a translator, a chatbot, an API or a file."""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import click

from trustgauge.errors import PlanError, ServiceError, StoreError
from trustgauge.terminal.options import DEFAULT_PLAN

if TYPE_CHECKING:
    import polars as pl

Draft = tuple[str, str]
"""The text of a plan, and a summary of what it rates."""
KINDS = ("demo", "translator", "chatbot", "http", "scores", "log")
OLLAMA = "ollama/llama3.2"
ADDRESS = "http://127.0.0.1:8000/answer"
_SENTENCES = ("text", "frame", "person", "gender", "race", "word", "valence")
_UTTERANCES = ("dialog", "speaker", "text", "turn")


def demo() -> Draft:
    """A plan for control services: no network, nothing installed."""
    return _filled("demo"), "anchor/coin, anchor/identity, anchor/all-he (no network needed)"


def translator(service: str = "", url: str = "") -> Draft:
    """A plan for a translator: the one that is named, else one that is here, else one that needs a key.

    Raises PlanError if there is no such service.
    """
    if service or url:
        if "/" in service:  # a language model, asked to translate
            settings: dict[str, Any] = {"use": "chat-translator", "service": _described(service, url)}
            return _through(["es", "fr"], settings), f"{service}, asked to translate, through es, fr"
        settings = {"use": service or "libretranslate", **({"url": url} if url else {})}
        return _through(["es", "fr"], settings), f"{settings['use']} through es, fr"
    from trustgauge.services.apertium import Apertium

    apertium = Apertium(use="apertium")
    try:
        apertium.pair("en", "es").check_requirements()
        pairs = apertium.languages() or ()
        installed = sorted({target for source, target in pairs if source in ("en", "eng")})
        return _through(installed, {"use": "apertium"}), f"Apertium through {', '.join(installed)}"
    except ServiceError:
        pass
    if os.environ.get("DEEPL_API_KEY"):
        return _through(["de", "fr", "es"], {"use": "deepl"}), "DeepL through de, fr, es"
    local = {"use": "libretranslate", "url": "http://127.0.0.1:5000"}
    said = "LibreTranslate on this machine through es, fr; change it to the service you want to rate"
    return _through(["es", "fr"], local), said


def chatbot(service: str = "", url: str = "") -> Draft:
    """A plan for a chatbot, named as PROVIDER/MODEL. Raises PlanError if there is no such service."""
    import tomli_w

    settings = _described(service or OLLAMA, url)
    hint = "" if service else "; --chatbot PROVIDER/MODEL names another, as openai/MODEL or anthropic/MODEL"
    named = "/".join(str(settings[key]) for key in ("use", "model") if key in settings)
    text = _filled("chatbot", service=tomli_w.dumps(settings), issues=_issues())
    return text, f"{named}{f' at {url}' if url else ''}{hint}"


def http(url: str = "") -> Draft:
    """A plan for any service behind HTTP; what it sends and reads is to be filled in."""
    said = url or f"{ADDRESS}; change url, request and response to your service's"
    return _filled("http", url=_inline(url or ADDRESS)), said


def scores(file: Path) -> Draft:
    """A plan for a table of texts and the scores that services gave them.

    Every column of numbers is taken for the scores of one service, but for those whose names say what
    else they are ("id", "age"). Services with one range of scores share an experiment.

    Raises PlanError if the table has no texts, no classes of persons, or no scores.
    """
    import tomli_w

    from trustgauge.data.tables import fault, read_table

    table = read_table(file, "--scores")
    columns = _columns_of(table, _SENTENCES)
    if "text" not in columns or not {"gender", "race"} & columns.keys():
        what = "the table does not say whom its texts are about"
        do = "Rename its columns, or write the plan by hand (docs/guide/causal.md)"
        must, got = "a column of texts (text, sentence), and gender or race", ", ".join(table.columns)
        raise fault(file, "--scores", what, must=must, got=got, do=do)
    draw = _columns_of(table, ("draw",))
    other = (*columns.values(), *draw.values())
    none = _words()["columns"]["none"]
    rest = [one for one in table.columns if one not in other and one.strip().lower() not in none]
    spans = {name: span for name in rest if (span := _span(table[name]))}
    if not spans:
        what = "the table has no column of scores"
        raise fault(file, "--scores", what, must="a column of numbers", got=", ".join(table.columns))
    place = str(file.absolute())
    recorded = {"use": "replay", "task": "score", "file": place, "text": columns["text"], **draw}
    experiments = [
        _filled(
            "scores-experiment",
            names=_inline([name for name, one in spans.items() if one == span]),
            span=_inline(list(span)),
            file=_inline(place),
            columns=_inline(columns),
            codes=_codes(table, columns),
        )
        for span in dict.fromkeys(spans.values())
    ]
    services = tomli_w.dumps({"services": {one: {**recorded, "output": one} for one in spans}})
    plan = _filled("scores", services=services, experiments="\n".join(experiments))
    named = ", ".join(f"{name} ({low:g} to {high:g})" for name, (low, high) in spans.items())
    said = f"{named}: {table.height:,} texts of {file}"
    if not {"frame", "person"} & columns.keys():
        said += "; without a column of frames (template) or persons only differences, no level"
    return plan, said


def _span(column: pl.Series) -> tuple[float, float] | None:
    """The range that the numbers of a column fit in: -1 to 1, 0 to 1, or their own. None: no numbers."""
    import polars as pl

    cells = column.drop_nulls()
    numbers = cells.cast(pl.Float64, strict=False)
    if not len(cells) or not numbers.is_finite().fill_null(value=False).all():
        return None
    low, high = float(numbers.to_numpy().min()), float(numbers.to_numpy().max())
    if low >= -1 and high <= 1:
        return (-1.0 if low < 0 else 0.0), 1.0
    return min(0.0, math.floor(low)), float(math.ceil(high)) if high > 0 else 0.0


def log(file: Path) -> Draft:
    """A plan for recorded conversations. Raises PlanError if the bot's side of them cannot be read."""
    from trustgauge.data.dialogs import DialogSource
    from trustgauge.data.tables import SUFFIXES, fault, read_table

    settings: dict[str, Any] = {"file": str(file.absolute())}
    if file.suffix.lower() in SUFFIXES:
        table = read_table(file, "--log")
        columns = _columns_of(table, _UTTERANCES)
        if not {"dialog", "speaker", "text"} <= columns.keys():
            must, got = "columns for the dialog, the speaker and the text", ", ".join(table.columns)
            do = f"Rename its columns; logs of calls become a plan by `trustgauge import openai-jsonl {file}`"
            raise fault(file, "--log", "no table of utterances", must=must, got=got, do=do)
        settings["columns"] = columns
    count = DialogSource.model_validate(settings).read()["dialog"].n_unique()
    lines = "".join(f"{name} = {_inline(value)}\n" for name, value in settings.items())
    return _filled("log", source=lines), f"{count:,} conversations of {file}"


def _through(via: Sequence[str], settings: Mapping[str, Any]) -> str:
    return _filled("translator", via=_inline(list(via)), service=_inline(settings)[1:-1].strip())


def _filled(kind: str, **values: str) -> str:
    file = resources.files("trustgauge.cli").joinpath("plans", f"{kind}.toml")
    return Template(file.read_text(encoding="utf-8")).substitute(values)


def _issues() -> str:
    """The line of issues: what the bot says is read by meaning if the libraries for that are installed."""
    from trustgauge.methods.trust.abuse_sentences import LIBRARIES

    if all(map(find_spec, LIBRARIES)):
        return 'issues = [{ issue = "abuse", checker = "sentences" }, "leakage", "complexity"]'
    hint = "# abuse: by a list of words; pip install 'trustgauge[sentences]' for checker = \"sentences\""
    return f'issues = ["abuse", "leakage", "complexity"]  {hint}'


def _described(service: str, url: str) -> dict[str, Any]:
    """The settings of a service that is named `provider/model`."""
    from trustgauge.plan import service_from_name

    provider = service.partition("/")[0]
    described = service_from_name(service, "SERVICE", "a provider, or PROVIDER/MODEL")
    settings = {
        "use": provider,
        **described.model_dump(mode="json", exclude_unset=True, exclude_defaults=True),
    }
    return settings | ({"url": url} if url else {})


def _words() -> Mapping[str, Any]:
    return tomllib.loads(
        resources.files("trustgauge.cli").joinpath("plans", "columns.toml").read_text("utf-8")
    )


def _columns_of(table: pl.DataFrame, roles: Sequence[str]) -> dict[str, str]:
    """Role -> its column in a table, for the roles that have one."""
    known = {name.strip().lower(): name for name in table.columns}
    names = _words()["columns"]
    found = {role: next((known[name] for name in names[role] if name in known), "") for role in roles}
    return {role: name for role, name in found.items() if name}


def _codes(table: pl.DataFrame, columns: Mapping[str, str]) -> str:
    """A line that says what cells mean which are no names of classes, "" if all are."""
    codes: dict[str, dict[str, str]] = {}
    for role, meanings in _words()["cells"].items():
        cells = set(table[columns[role]].drop_nulls()) if role in columns else set()
        for cell in sorted(cells - meanings.keys()):
            for meaning, words in meanings.items():
                if cell.lower() in (meaning.lower(), *words):
                    codes.setdefault(role, {})[cell] = meaning
    return f"codes = {_inline(codes)}\n" if codes else ""


def _inline(value: Any) -> str:
    """A value on one line of TOML, whose strings, numbers and booleans are written like JSON's."""
    if isinstance(value, Mapping):
        pairs = (f"{_key(name)} = {_inline(one)}" for name, one in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else json.dumps(name, ensure_ascii=False)


def write_plan(path: Path, text: str, *, force: bool) -> None:
    """Write a plan.

    Raises PlanError if there is one already, or if it has faults; StoreError if it cannot be written.
    """
    from trustgauge.plan import load_plan

    if path.exists() and not force:
        raise PlanError.of(
            str(path), "the plan already exists", do="--force overwrites it, -o FILE writes elsewhere"
        )
    load_plan(tomllib.loads(text))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written",
            got=error.strerror or str(error),
            do="choose another location with -o",
        ) from None


def _draft(chosen: Mapping[str, Any], url: str) -> Draft:
    """The plan that the options ask for. Raises PlanError if they ask for several."""
    given = [kind for kind in KINDS if chosen[kind] not in (None, False)]
    if len(given) > 1:
        got = ", ".join(f"--{kind}" for kind in given)
        raise PlanError.of("init", "several kinds of plans", must="one of them", got=got)
    kind = given[0] if given else "translator"
    if url and kind not in ("translator", "chatbot", "http"):
        must = "a plan that asks a service: --chatbot, --translator or --http"
        raise PlanError.of("--url", f"--{kind} asks nobody", must=must)
    if kind == "demo":
        return demo()
    if kind == "scores":
        return scores(chosen[kind])
    if kind == "log":
        return log(chosen[kind])
    if kind == "http":
        return http(chosen[kind] or url)
    return (chatbot if kind == "chatbot" else translator)(chosen[kind] or "", url)


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("init")
@click.option("--demo", is_flag=True, help="Rate control services: needs no network and nothing installed.")
@click.option(
    "--chatbot",
    is_flag=False,
    flag_value="",
    metavar="[PROVIDER/MODEL]",
    help=f"Rate a chatbot: abuse, leaks, complexity, social bias. Without a name {OLLAMA}.",
)
@click.option(
    "--translator",
    is_flag=False,
    flag_value="",
    metavar="[PROVIDER[/MODEL]]",
    help="Rate a translator there and back, or a model asked to translate. Without a name one that is here, "
    "or LibreTranslate.",
)
@click.option(
    "--http",
    is_flag=False,
    flag_value="",
    metavar="[URL]",
    help="Rate any service behind HTTP; fill in what it sends and reads.",
)
@click.option("--url", default="", help="Address of the chatbot, translator or service.")
@click.option("--scores", type=_FILE, help="Rate sentiment scores in a table of texts about persons.")
@click.option("--log", type=_FILE, help="Rate recorded conversations: CSV, JSON lines, JSON or a chat log.")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=DEFAULT_PLAN, show_default=True)
@click.option("--force", is_flag=True, help="Overwrite an existing plan.")
def init_verb(output: Path, force: bool, url: str, **chosen: Any) -> None:
    """Write a commented plan.

    \b
    trustgauge init --demo
    trustgauge init --chatbot openai/my-model --url http://127.0.0.1:8080/v1
    trustgauge init --scores scored.csv
    """
    text, said = _draft(chosen, url)
    write_plan(output, text, force=force)
    click.echo(f"{'wrote':<9}{output}: {said}")
    plan = "" if output == DEFAULT_PLAN else f" {output}"
    fill = "fill in task, request and response; then trustgauge check"
    click.echo(f"{'next':<9}{fill if chosen['http'] is not None else 'trustgauge rate'}{plan}")
