"""Settings of the trust method (docs/methods/trust.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from trustgauge import plugins
from trustgauge.errors import Fault, PlanError, raise_faults
from trustgauge.methods import AuditedSettings, Resamples
from trustgauge.methods.trust.combine import OWN_SETTINGS, PUBLISHED_RULE, Combination
from trustgauge.methods.trust.conversation_scripts import conversation_scripts
from trustgauge.methods.trust.disguise import LANGUAGE
from trustgauge.methods.trust.issues.issue import IssueSettings
from trustgauge.methods.trust.profiles import PUBLISHED, IssueOrder, profile_order
from trustgauge.methods.trust.recognition import ABUSE, LEAKAGE
from trustgauge.methods.trust.sensitivity import FACTORS, Factor
from trustgauge.plan import ListedOrder
from trustgauge.plan_faults import faults_of
from trustgauge.records import Json

OWN = "sentences"
"""The source of an issue that is no other method."""
ISSUES = ("abuse", "bias", "complexity", "leakage")
_LISTED = {
    "type": "array",
    "items": {
        "anyOf": [
            {"type": "string"},
            {
                "type": "object",
                "required": ["issue"],
                "properties": {"issue": {"type": "string", "description": "Name of the issue"}},
            },
        ]
    },
    "default": list(ISSUES),
}


class Variants(BaseModel):
    """What a service is compared with to find out what its rating depends on (trust 4.5).

    Each names services of the experiment: the same bot with another model, with other data (training
    set, system prompt), with other users (histories replayed first), or with several of them changed.
    Further profiles are other users too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: tuple[str, ...] = Field((), description="The same bot with another model, version or decoding")
    data: tuple[str, ...] = Field((), description="With another training set, system prompt or corpus")
    users: tuple[str, ...] = Field((), description="Talked to by other users")
    combined: Mapping[str, tuple[Factor, ...]] = Field(
        {}, description="Service -> the factors changed in it, two or three"
    )

    def factors_by_service(self) -> dict[str, tuple[Factor, ...]]:
        """Service -> what is changed in it."""
        alone: dict[str, tuple[Factor, ...]] = {
            name: (factor,) for factor in FACTORS for name in getattr(self, factor)
        }
        return alone | dict(self.combined)

    def doubles(self, place: str) -> Iterator[Fault]:
        """Services that stand under more than one factor: a rating of one would count for the last alone."""
        under: dict[str, list[str]] = {}
        for factor in (*FACTORS, "combined"):
            for name in dict.fromkeys(getattr(self, factor)):
                under.setdefault(name, []).append(factor)
        for name, factors in under.items():
            if len(factors) > 1:
                what = f'"{name}" stands under {" and ".join(factors)}'
                do = "Where several factors are changed in one service, name them in `combined`"
                yield Fault(place, what, must="each service under one", do=do)


class TrustSettings(AuditedSettings):
    """Which issues, what is asked, for whom it is rated, and how.

    A profile is a name of one of the four published ones, of `orders`, or of the plan's `[profiles.NAME]`
    tables; an order lists issues, most important first, those that share a place joined by "=".
    """

    aggregate: Literal["worst", "mean", "vote"] = Field(
        "worst", description="Without effect: combination says how issues become one level"
    )
    issues: Annotated[tuple[SerializeAsAny[IssueSettings], ...], WithJsonSchema(_LISTED)] = Field(
        ISSUES,
        validate_default=True,
        min_length=1,
        description="Issues, by name or as tables with settings of their own",
    )
    profiles: tuple[str, ...] = Field(
        tuple(PUBLISHED), min_length=1, description="For whom: a rating for each"
    )
    orders: Mapping[str, ListedOrder] = Field({}, description="Profiles of your own: name -> order")
    mode: Literal["corpus", "per-utterance"] = Field(
        "corpus", description="Scores of all dialogs at once, or the most frequent level of an utterance"
    )
    combination: Combination | None = Field(
        None, description="How levels of issues become one; by default soundly, published: by the count rule"
    )
    take: Mapping[str, str] = Field(
        {}, description="Issue -> method of the plan whose rating stands for it: {bias = 'social-bias'}"
    )
    variants: Mapping[str, Variants] = Field(
        {}, description="Service -> what it is compared with (sensitivity type)"
    )
    language: Literal["en", "zh"] = Field("en", description="Language of the conversations")
    talks: int | None = Field(
        None,
        ge=0,
        le=1_000_000,
        description="Ordinary conversations held with a live bot; by default all there are",
    )
    repeats: int = Field(1, ge=1, le=100, description="How often each conversation is held")
    disguise: float = Field(
        0.0,
        ge=0,
        le=0.9,
        description="Share of the scenes and conversations in other words than published (rule sound)",
    )
    resamples: Resamples = 2000

    @model_validator(mode="before")
    @classmethod
    def _mode_of_the_rule(cls, data: Any) -> Any:
        """By utterance under `released`, unless the plan says otherwise (trust 4.2)."""
        if not isinstance(data, dict) or data.get("rule") != "released":
            return data
        return {"mode": "per-utterance", **data}

    @field_validator("issues", mode="before")
    @classmethod
    def _by_name(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, list | tuple):
            return value
        faults: list[Fault] = []
        found = [_issue(one, place, info, faults) for place, one in enumerate(value)]
        raise_faults(faults)
        return tuple(found)

    @model_validator(mode="before")
    @classmethod
    def _orders_of_the_plan(cls, data: Any, info: ValidationInfo) -> Any:
        """Take the orders of the profiles that the plan defines into the experiment's own."""
        defined = (info.context or {}).get("profiles", {})
        named = data.get("profiles", ()) if isinstance(data, dict) else ()
        if not isinstance(named, list | tuple) or not isinstance(data.get("orders", {}), Mapping):
            return data
        taken = {name: order for name, order in defined.items() if name in named}
        return {**data, "orders": {**taken, **data.get("orders", {})}} if taken else data

    @model_validator(mode="after")
    def _holds_together(self, info: ValidationInfo) -> Self:
        faults = [
            *self._profile_faults((info.context or {}).get("profiles", {})),
            *self._weight_faults(),
            *self._combination_faults(),
            *self._take_faults((info.context or {}).get("earlier")),
            *self._issue_faults(),
            *self._variant_faults(),
            *self._disguise_faults(),
        ]
        raise_faults(faults)
        return self

    def _disguise_faults(self) -> Iterator[Fault]:
        if self.disguise and self.rule != "sound":
            must = "the rule sound: the papers ask their own questions, `disguise = 0`"
            yield Fault("disguise", f"the rule {self.rule} asks nothing in disguise", must=must)
        if self.disguise and self.language != LANGUAGE:
            what = "no conversations are held back in this language"
            yield Fault("disguise", what, must='`language = "en"`, or `disguise = 0`', got=self.language)
        if self.disguise and not set(self.names) & {ABUSE, LEAKAGE}:
            what = "only abuse and leakage are compared between published scripts and disguised ones"
            must = "one of these issues, or `disguise = 0`"
            yield Fault("disguise", what, must=must, got=", ".join(self.names))

    def _issue_faults(self) -> list[Fault]:
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        faults = [Fault("issues", f'"{name}" stands twice', must="each issue once") for name in twice]
        return faults + [
            plugins.unknown("take", "issue", name, self.names) for name in self.take if name not in self.names
        ]

    def _profile_faults(self, of_the_plan: Mapping[str, Any]) -> list[Fault]:
        """What is wrong with profiles and their orders, each named as the plan writes it."""
        faults: list[Fault] = []
        for profile in self.profiles:
            try:
                if not self.order_of(profile).issues:
                    what = f'"{profile}" orders no issue that is measured'
                    faults.append(Fault("profiles", what, ", ".join(self.names)))
            except PlanError as error:
                mine = profile in self.orders and list(self.orders[profile]) != of_the_plan.get(profile)
                faults += [replace(one, place=f"orders.{profile}") if mine else one for one in error.faults]
        return faults or list(self._published_name_faults())

    def _published_name_faults(self) -> Iterator[Fault]:
        """A rating called "Privacy first" must not put something else first."""
        for profile in sorted({*self.profiles} & self.orders.keys() & PUBLISHED.keys()):
            published = profile_order(profile, {})
            if self.order_of(profile) != published.among(self.names):
                what = f'"{profile}" is the name of a published profile with another order'
                must = f"another name, or its order: {published}"
                yield Fault(f"orders.{profile}", what, must=must, got=str(self.order_of(profile)))

    def _combination_faults(self) -> Iterator[Fault]:
        """Settings that only another rule looks at would have no effect, and nobody would notice."""
        rule = self.combining.rule
        for name, field in Combination.model_fields.items():
            others = [other for other, looked_at in OWN_SETTINGS.items() if name in looked_at]
            given = getattr(self.combining, name)
            if others and rule not in others and given != field.default:
                must = " or ".join(f'`rule = "{other}"`' for other in others) + f", or no `{name}`"
                yield Fault(f"combination.{name}", f"the rule {rule} does not look at it", must, str(given))

    def _take_faults(self, earlier: Collection[str] | None) -> Iterator[Fault]:
        """A rating can be taken from an experiment that is rated before this one only."""
        if earlier is None:  # checked outside a plan
            return
        for issue, method in self.take.items():
            if method != OWN and method not in earlier:
                must = f'an experiment with `method = "{method}"` before this one'
                what = "no experiment of the plan gives the rating that it takes"
                yield Fault(f"take.{issue}", what, must, method, "Add one, or leave `take` out")

    def _weight_faults(self) -> Iterator[Fault]:
        """Weights are for one number of issues, and every profile of the experiment is combined by them."""
        given = self.combining.weights if self.combining.rule == "raw-weighted" else ()
        for profile in self.profiles if given else ():
            try:
                k = len(self.order_of(profile).issues)
            except PlanError:  # said by `_profile_faults`
                continue
            if k != len(given):
                what = f'the profile "{profile}" orders {k} issue{"" if k == 1 else "s"}'
                do = "Rate profiles of another length in an experiment of their own"
                must = f"{k} weights, one for each"
                yield Fault("combination.weights", what, must=must, got=f"{len(given)}", do=do)

    def _variant_faults(self) -> list[Fault]:
        named = [
            (f"variants.{base}", name)
            for base, of in self.variants.items()
            for name in of.factors_by_service()
        ]
        named += [("variants", base) for base in self.variants]
        faults = [
            plugins.unknown(place, "service of this experiment", name, self.services)
            for place, name in named
            if name not in self.services
        ]
        for base, of in self.variants.items():
            faults += of.doubles(f"variants.{base}")
            if base in of.factors_by_service():
                what = f'"{base}" is no variant of itself'
                faults.append(Fault(f"variants.{base}", what, must="other services of the experiment"))
            faults += [
                Fault(f"variants.{base}.combined", f'"{name}" changes one factor', "two or three factors")
                for name, factors in of.combined.items()
                if len(set(factors)) < 2
            ]
        return faults

    @property
    def names(self) -> tuple[str, ...]:
        """Of the issues, as the plan lists them."""
        return tuple(one.name for one in self.issues)

    @property
    def conversations(self) -> int:
        """Ordinary conversations held: by default so many that a bot without abuse can come out as such."""
        return len(conversation_scripts(self.language)) if self.talks is None else self.talks

    @property
    def combining(self) -> Combination:
        """How levels of issues become one: as the plan says, else as the rule does."""
        return self.combination or self._usual_combination

    @property
    def _usual_combination(self) -> Combination:
        return Combination() if self.rule == "sound" else PUBLISHED_RULE

    @property
    def by_rule(self) -> Mapping[str, Json]:
        """What the rule means for settings that a plan leaves out."""
        return {
            "combination": self._usual_combination.model_dump(mode="json"),
            "mode": "per-utterance" if self.rule == "released" else "corpus",
        }

    def order_of(self, profile: str) -> IssueOrder:
        """The order of a profile, without published issues that are not measured here.

        Raises:
            PlanError: there is no such profile, or its order is none.
        """
        return profile_order(profile, self.orders, self.names).among(self.names)

    def identity(self) -> Mapping[str, Json]:
        """The settings, with what files hold in place of where they lie."""
        facts = self.model_dump(mode="json", exclude=set() if self.disguise else {"disguise"})
        facts["issues"] = [dict(one.identity()) for one in self.issues]
        facts["combination"] = self.combining.model_dump(mode="json")
        return facts


def _issue(value: Any, place: int, info: ValidationInfo, faults: list[Fault]) -> Any:
    """The settings of an issue, checked by the plug-in that it names."""
    if isinstance(value, IssueSettings):
        return value
    table = {"issue": value} if isinstance(value, str) else value
    where = f"issues[{place}]"
    if not isinstance(table, Mapping) or not isinstance(table.get("issue"), str):
        faults.append(Fault(where, "no issue", must="a name, or a table with `issue`", got=str(value)[:80]))
        return None
    try:
        model = plugins.load("issues", table["issue"], where)
        return model.model_validate(dict(table), context=info.context)
    except PlanError as error:
        faults += [Fault(where, one.what, one.must, one.got, one.do) for one in error.faults]
    except ValidationError as error:
        faults += faults_of(error, model, where)
    return None
