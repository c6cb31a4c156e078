"""The plan: a TOML file (or the same model as JSON) that says what to rate, how, and at what cost.

`load_plan` checks everything at once and raises one PlanError with every fault, each with its
place, its line and the nearest valid word. Settings of plug-ins are checked by the plug-ins'
own models. A plan never holds a key, only the name of an environment variable.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.errors import PydanticUserError

from trustgauge import plugins
from trustgauge.errors import Fault, PlanError
from trustgauge.records import UNNAMED, JudgeChoice, digest

MOST_BYTES, MOST_PARTS = 10_000_000, 100  # of a plan, and of one of its keys: reading more takes minutes
SHOWN = 80  # characters of a name that an error shows
_PART = r"""(?:[\w-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')[ \t]*\.[ \t]*"""
_DEEP = re.compile(r"(?:^[ \t]*\[{0,2}|[{,])[ \t]*(?:" + _PART + f"){{{MOST_PARTS}}}", re.MULTILINE)
SCHEMA_ID = "trustgauge.plan/1"


def _beside_the_plan(path: Path, info: ValidationInfo) -> Path:
    return Path((info.context or {}).get("folder", ""), path).absolute()


PlanPath = Annotated[Path, AfterValidator(_beside_the_plan)]
"""A path in a plan; a relative one starts at the folder of the plan. Absolute once it is checked."""

PlanPaths = Annotated[
    tuple[PlanPath, ...],
    BeforeValidator(lambda value: [value] if isinstance(value, str | Path) else value),
    WithJsonSchema(
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
    ),
]
"""One such path, or a list of them."""


def _listed(order: Any) -> Any:
    """Refuse an order written in one text, such as "a > b", with the list that is meant."""
    if isinstance(order, str):
        meant = ", ".join(f'"{_cut(place.strip())}"' for place in re.split("[>,]", order)[:9])
        raise ValueError(f'must be a list, most important first ("a = b" share a place): [{meant}]')
    return order


ListedOrder = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""An order as plans write it: a list of places, most important first."""


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Budget(_Settings):
    """Hard caps of a run. None means no cap. None of them changes a rating."""

    calls: int | None = Field(None, ge=0, description="Most calls to all services; every attempt counts")
    usd: float | None = Field(None, ge=0, description="Most money spent, in US dollars")
    tokens: int | None = Field(None, ge=0, description="Most tokens, as reported by the services")
    seconds: float | None = Field(None, gt=0, description="Most time spent asking")


class AssessorSettings(_Settings):
    """Who rates, in what relationship to the provider, and who pays. Stands on every label."""

    name: str = Field("not stated", description="Person or organisation that rates")
    relationship: Literal["third party", "first party", "customer", "not stated"] = Field(
        "not stated", description="Relationship to the provider; `first party`: the provider itself"
    )
    paid_by: str = Field("not stated", description="Who pays for the rating")


class RunSettings(_Settings):
    """Where answers are kept, and who asks. None of it changes a rating."""

    store: str = Field("sqlite", description="Where answers are stored; `parquet` for millions of them")

    engine: str = Field("local", description="Who asks: `local`, or `dask` for several processes or machines")
    workers: int | None = Field(None, ge=1, description="Worker processes to start; default: one per core")
    scheduler: str = Field("", description="Address of a Dask cluster that runs already: tcp://10.0.0.1:8786")
    shared: str = Field("", description="Folder that all workers see; default: the run's own")

    @field_validator("engine")
    @classmethod
    def _known_engine(cls, value: str) -> str:
        if value not in plugins.names("engines"):
            raise ValueError("input should be one of: " + ", ".join(plugins.names("engines")))
        return value

    @field_validator("store")
    @classmethod
    def _known_store(cls, value: str) -> str:
        known = plugins.names("stores")
        if value not in known:
            raise ValueError("input should be one of: " + ", ".join(known))
        return value


class ProfileSettings(_Settings):
    """The order of issues of a kind of user, most important first."""

    order: ListedOrder = Field(description="Names of issues of trust, most important first")

    @model_validator(mode="before")
    @classmethod
    def _is_table(cls, table: Any) -> Any:
        if not isinstance(table, Mapping | cls):
            example = '[profiles.NAME] with order = ["leakage", "abuse = bias"]'
            raise ValueError(f"must be a table for each kind of user: {example}")
        return table


class Plan(_Settings):
    """All that a run does. `services` and `experiments` hold the checked settings of plug-ins."""

    name: str = Field(UNNAMED, description="Title of the plan, shown in reports")
    seed: int = Field(20260101, ge=0, lt=2**63, description="Random seed of the run")
    budget: Budget = Field(Budget(), description="Limits on calls, dollars, tokens and seconds of the run")
    assessor: AssessorSettings = Field(
        AssessorSettings(), description="Who rates, in what relationship to the provider, and who pays"
    )
    retest: float = Field(
        0.07,
        ge=0,
        le=0.2,
        description="Share of the questions that a service that varies is asked a second time",
    )
    valid_days: int = Field(90, gt=0, le=3650, description="Days until the rating expires")
    run: RunSettings = Field(
        RunSettings(), description="Where answers are stored and who asks; does not change a rating"
    )
    only: tuple[str, ...] = Field((), description="Parts or services to ask; empty means all")
    services: Mapping[str, SerializeAsAny[BaseModel]] = Field(
        description="Services to rate, and those they use, by a name of your choice"
    )
    experiments: tuple[SerializeAsAny[BaseModel], ...] = Field(
        min_length=1, description="What to rate: a method, its services and its settings"
    )
    profiles: Mapping[str, ProfileSettings] = Field(
        {}, description="Kinds of users and the order in which issues of trust matter to them"
    )

    @property
    def hash(self) -> str:
        """Covers all that may change a rating, and not budget, name, assessor or folder."""
        return self.hash_with(self.identities())

    def identities(self) -> dict[str, Any]:
        """All that may change an answer of each rated service, as it is installed here now."""
        used = {name for one in self.experiments for name in one.services}  # type: ignore[attr-defined]
        judges = (one.second_judge for one in self.experiments if isinstance(one, JudgeChoice))
        used |= set(judges)  # whose word counts in a rating
        rated: dict[str, Any] = {name: one for name, one in self.services.items() if name in used}
        return {name: service.identity() for name, service in rated.items()}

    def hash_with(self, identities: Mapping[str, Any]) -> str:
        """The hash for services with these identities: those of a run, where they are elsewhere now."""
        return digest(
            "plan",
            {
                "seed": self.seed,
                "only": sorted(self.only),
                "retest": self.retest,
                "services": identities,
                "experiments": [
                    {**one.identity(), "version": type(one).version}  # type: ignore[attr-defined]
                    for one in self.experiments
                ],
                "profiles": {name: list(profile.order) for name, profile in self.profiles.items()},
            },
        )

    def document(self) -> dict[str, Any]:
        """The plan as plain data: what the TOML file or the REST body holds."""
        return self.model_dump(mode="json", exclude_none=True, exclude_defaults=False)


def load_plan(
    source: str | Path | Mapping[str, Any],
    changes: Mapping[str, Any] | None = None,
    optional: Collection[str] = (),
) -> Plan:
    """Read and check a plan.

    Args:
        source: the name of a TOML file, or the plan as plain data.
        changes: values that override the plan's own: top-level keys, `budget` and `run` merged key by
            key, and `experiments`, each of whose settings goes to every experiment that has it.
        optional: settings among `changes["experiments"]` that need not fit any experiment.

    Raises:
        PlanError: with every fault found, each with its place and, for a file, its line.
    """
    if isinstance(source, str | Path):
        text, data = read_plan(Path(source))
        folder = Path(source).parent
    else:
        text, data, folder = "", dict(source), Path()
    faults: list[Fault] = []
    plan = _check(_changed(data, changes or {}, optional, faults), folder, faults)
    if faults or plan is None:
        # Imported here: what only a plan with faults needs.
        from trustgauge.plan_faults import line_numbers, line_of

        lines = line_numbers(text)
        raise PlanError(tuple(replace(fault, line=line_of(fault.place, lines)) for fault in faults))
    return plan


def read_plan(path: Path) -> tuple[str, dict[str, Any]]:
    """Text and data of a plan file, unchecked. Raises PlanError if it is no TOML that can be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES:,} bytes")
        text = raw.decode("utf-8-sig")
        return text, parse_toml(text)
    except FileNotFoundError:
        fault = Fault(str(path), "no such plan", must="a TOML file", do="`trustgauge init` writes one")
    except UnicodeDecodeError as error:
        fault = Fault(
            str(path), "the plan is not UTF-8", must="UTF-8 text", got=f"byte {error.start} unreadable"
        )
    except OSError as error:
        fault = Fault(str(path), "the plan cannot be read", got=error.strerror or str(error))
    except RecursionError:
        fault = Fault(str(path), "the plan is not TOML", got="lists within lists without end")
    except ValueError as error:  # TOMLDecodeError, and a number of thousands of digits
        fault = Fault(str(path), "the plan is not TOML", got=str(error))
    raise PlanError((fault,))


def parse_toml(text: str) -> dict[str, Any]:
    """The data of a TOML text. Raises ValueError if it is none, or a key has more parts than a plan needs."""
    if deep := _DEEP.search(text):
        line = text.count("\n", 0, deep.end()) + 1
        raise ValueError(f"a key of more than {MOST_PARTS} parts in line {line}")
    return tomllib.loads(text)


def _changed(
    data: Mapping[str, Any], changes: Mapping[str, Any], optional: Collection[str], faults: list[Fault]
) -> dict[str, Any]:
    """The plan's data with the changes laid over it; what has a wrong shape is left for `_check`."""
    result = {**data, **changes}
    for key in ("budget", "run"):
        own = data.get(key, {})
        if key in changes:
            result[key] = {**own, **changes[key]} if isinstance(own, Mapping) else own
    if "experiments" not in changes:
        return result
    listed = result["experiments"] = data.get("experiments")
    if not isinstance(listed, list):
        return result
    known = [_settings_of(one) for one in listed]
    result["experiments"] = [
        {**one, **{key: value for key, value in changes["experiments"].items() if key in fields}}
        if isinstance(one, Mapping)
        else one
        for one, fields in zip(listed, known, strict=True)
    ]
    for key in changes["experiments"]:
        if key not in optional and all(known) and not any(key in fields for fields in known):
            must = "one that they have: " + ", ".join(sorted(set().union(*known)))
            faults.append(Fault("experiments", f'none has the setting "{key}"', must=must))
    return result


def _settings_of(experiment: Any) -> Collection[str]:
    """Names of the settings that the method of an experiment has; none where no method is named."""
    name = experiment.get("method") if isinstance(experiment, Mapping) else None
    if not isinstance(name, str) or name not in plugins.names("methods"):
        return ()
    return _model("methods", name).model_fields


def _model(group: str, name: str, place: str = "") -> type[BaseModel]:
    """The settings of a plug-in. Raises PlanError if there is no such plug-in, or it cannot be imported."""
    model = plugins.load(group, name, place)
    if isinstance(model, type) and issubclass(model, BaseModel):
        return model
    what, must = f'the {group.removesuffix("s")} "{name}" has no settings', "a subclass of pydantic.BaseModel"
    raise PlanError.of(place or group, what, must, f"{model!r:.{SHOWN}}", "Mend or remove the plug-in")


def _check(data: dict[str, Any], folder: Path, faults: list[Fault]) -> Plan | None:
    services: dict[str, BaseModel] = {}
    context = {"folder": folder, "profiles": _orders(data.get("profiles"))}
    for name, settings in _table(data, "services", faults).items():
        found = _plugin("services", "use", settings, f"services.{name}", context, faults)
        if found is not None:
            services[name] = found
    experiments: list[BaseModel] = []
    listed = data.get("experiments")
    if not isinstance(listed, list) or not listed:
        faults.append(Fault("experiments", "nothing to do", must="at least one [[experiments]] table"))
    earlier: list[str] = []
    for index, settings in enumerate(listed if isinstance(listed, list) else []):
        place = f"experiments[{index}]"
        known = tuple(data["services"]) if isinstance(data.get("services"), dict) else ()
        _check_names(settings, place, known, faults)
        found = _plugin("methods", "method", settings, place, {**context, "earlier": earlier}, faults)
        earlier = [*earlier, str(settings.get("method"))] if isinstance(settings, Mapping) else earlier
        if found is not None:
            experiments.append(found)
    rest = {key: value for key, value in data.items() if key not in ("services", "experiments")}
    try:
        # Placeholders keep the top level's faults apart from the plug-ins' own.
        shell = Plan.model_validate({**rest, "services": {}, "experiments": [Budget()]})
        faults.extend(_of_other_type("", rest, shell))
    except ValidationError as error:
        faults.extend(_faults_of(error, Plan, ""))
        return None
    if faults:
        return None
    return shell.model_copy(update={"services": services, "experiments": tuple(experiments)})


def _table(data: Mapping[str, Any], key: str, faults: list[Fault]) -> Mapping[str, Any]:
    table = data.get(key)
    if isinstance(table, Mapping) and table:
        return table
    got = "nothing" if table is None else type(table).__name__
    faults.append(Fault(key, "no services", must=f"at least one [{key}.NAME] table", got=got))
    return {}


def _orders(tables: Any) -> dict[str, Any]:
    """Profile -> its order, of what looks like a profile; faults are found where the plan is checked."""
    found = tables.items() if isinstance(tables, Mapping) else ()
    orders = {name: one.get("order") for name, one in found if isinstance(one, Mapping)}
    return {name: order for name, order in orders.items() if isinstance(order, list | tuple) and order}


def _check_names(settings: Any, place: str, known: tuple[str, ...], faults: list[Fault]) -> None:
    for key in ("services", "constant_services"):
        named = settings.get(key, ()) if isinstance(settings, Mapping) else ()
        listed = list(named) if isinstance(named, list | tuple) else []
        for name in listed:
            if name not in known:
                faults.append(plugins.unknown(f"{place}.{key}", "service", str(name), known))
        for name in {str(one): None for one in listed if listed.count(one) > 1}:
            must, got = "each named once", f'"{_cut(name)}" more than once'
            faults.append(Fault(f"{place}.{key}", "a service is named twice", must, got))
    judge = settings.get("judge") if isinstance(settings, Mapping) else None
    name = judge.get("service") if isinstance(judge, Mapping) else None
    if isinstance(name, str) and name not in known:
        faults.append(plugins.unknown(f"{place}.judge.service", "service", name, known))


def _plugin(
    group: str, key: str, settings: Any, place: str, context: Mapping[str, Any], faults: list[Fault]
) -> BaseModel | None:
    """The settings checked by the plug-in they name; None, and faults, if they are wrong."""
    if not isinstance(settings, Mapping):
        faults.append(Fault(place, "not a table", must="a table", got=type(settings).__name__))
        return None
    name = settings.get(key)
    if not isinstance(name, str):
        valid = ", ".join(plugins.names(group))
        faults.append(Fault(f"{place}.{key}", f"{key} is missing", must=f"one of: {valid}"))
        return None
    try:
        model = _model(group, name, f"{place}.{key}")
        taken = model.model_validate(settings, context=dict(context))
        faults.extend(_of_other_type(place, settings, taken))
        return taken
    except PlanError as error:
        faults.extend(_placed(fault, place) for fault in error.faults)
    except ValidationError as error:
        faults.extend(_faults_of(error, model, place))
    except OSError as error:  # of a path that no system could hold
        got = f"{_cut(str(error.filename))} ({error.strerror})"
        faults.append(Fault(place, "a path cannot be looked at", must="a file or folder", got=got))
    return None


def _of_other_type(place: str, given: Any, taken: Any) -> Iterator[Fault]:
    """Texts and true or false where a number is meant, and texts for true or false: pydantic takes them."""
    if isinstance(given, Mapping):
        for key, value in given.items():
            inner = taken.get(key) if isinstance(taken, Mapping) else getattr(taken, str(key), None)
            yield from _of_other_type(f"{place}.{key}" if place else str(key), value, inner)
    elif isinstance(given, list | tuple) and isinstance(taken, list | tuple) and len(given) == len(taken):
        for index, (value, inner) in enumerate(zip(given, taken, strict=True)):
            yield from _of_other_type(f"{place}[{index}]", value, inner)
    elif isinstance(taken, bool | int | float) and (
        isinstance(given, str) or isinstance(given, bool) != isinstance(taken, bool)
    ):
        must = "true or false" if isinstance(taken, bool) else "a number"
        quoted = ", without quotation marks" if isinstance(given, str) else ""
        yield Fault(place, "wrong value", must=must + quoted, got=_cut(repr(given)))


def _faults_of(error: ValidationError, model: type[BaseModel], place: str) -> list[Fault]:
    from trustgauge.plan_faults import faults_of

    return faults_of(error, model, place)


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def service_from_name(name: str, place: str, must: str) -> BaseModel:
    """The description of a service that is named `provider/model`, or by its provider alone.

    Raises:
        PlanError: there is no such provider, or it knows no such model; `place` and `must` are of the fault.
    """
    provider, _, model = name.partition("/")
    kind: Any = plugins.load("services", provider, place)
    try:
        described: BaseModel = kind.named(model)
    except ValidationError as error:
        raise PlanError(tuple(_faults_of(error, kind, place))) from None
    except ValueError as error:
        raise PlanError.of(place, f'no service "{name}": {error}', must=must) from None
    return described


def _placed(fault: Fault, place: str) -> Fault:
    """A fault found inside a plug-in, with the place in the plan before its own."""
    if fault.place.startswith((place, "profiles.")):  # tables of the plan, which experiments read
        return fault
    return Fault(f"{place}.{fault.place}", fault.what, fault.must, fault.got, fault.do)


_KINDS = {"use": "Kind of service", "method": "Method that rates the services"}
"""What the settings that choose a plug-in mean, by setting."""


def plan_schema() -> dict[str, Any]:
    """The published JSON schema of a plan: the model's own, with every plug-in's settings."""
    schema = Plan.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["$id"] = SCHEMA_ID
    schema["title"] = "Trustgauge plan"
    definitions = schema.setdefault("$defs", {})
    definitions.pop("BaseModel", None)
    properties = schema["properties"]
    properties["services"] = {
        "description": properties["services"]["description"],
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"anyOf": _variants("services", "use", definitions)},
    }
    properties["experiments"] = {
        "description": properties["experiments"]["description"],
        "type": "array",
        "minItems": 1,
        "items": {"anyOf": _variants("methods", "method", definitions)},
    }
    for definition in definitions.values():
        _describe(definition, definition.get("description", ""))
    return schema


def _attribute_docs(*docstrings: str) -> dict[str, str]:
    """The settings that docstrings describe under "Attributes:", by name; later docstrings win."""
    found: dict[str, str] = {}
    for docstring in docstrings:
        section = inspect.cleandoc(docstring).partition("\nAttributes:\n")[2]
        for names, words in re.findall(r"^    (\w[\w, ]*): (.+(?:\n {8}.+)*)", section, re.M):
            text = " ".join(words.split()).removesuffix(".")
            found |= dict.fromkeys(names.split(", "), f"{text[:1].upper()}{text[1:]}")
    return found


def _describe(definition: dict[str, Any], *docstrings: str) -> None:
    """Move what docstrings say of single settings from the definition to these settings."""
    properties = definition.get("properties", {})
    for setting, words in _attribute_docs(*docstrings).items():
        if setting in properties:
            properties[setting].setdefault("description", words)
    if "description" in definition:
        definition["description"] = definition["description"].partition("\n\nAttributes:")[0]


def _variants(group: str, key: str, definitions: dict[str, Any]) -> list[dict[str, Any]]:
    """The settings of every plug-in; one that is broken stands there too: it says why, and fits no plan."""
    variants = []
    for name in plugins.names(group):
        try:
            one = _settings_schema(group, name, key, definitions)
        except PlanError as error:
            one = {"title": name, "description": str(error), "not": {}}
        definitions[f"{group}:{name}"] = one
        variants.append({"$ref": f"#/$defs/{group}:{name}"})
    return variants


def _settings_schema(group: str, name: str, key: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a plug-in's settings. Raises PlanError if the plug-in is broken."""
    model = _model(group, name)
    try:
        one = model.model_json_schema(ref_template="#/$defs/{model}")
    except PydanticUserError as error:  # of settings that somebody else declared
        what, got = f'the {group.removesuffix("s")} "{name}" has no schema', error.message
        raise PlanError.of(
            group, what, got=got, do=f"Mend or remove the package {model.__module__.partition('.')[0]}"
        ) from error
    definitions.update(one.pop("$defs", {}))
    one.setdefault("description", "")
    _describe(one, *(kind.__dict__.get("__doc__") or "" for kind in reversed(model.__mro__)))
    one["properties"] = {**one.get("properties", {}), key: {"const": name, "description": _KINDS[key]}}
    one["required"] = sorted({*one.get("required", ()), key})
    one["title"] = name
    return one
