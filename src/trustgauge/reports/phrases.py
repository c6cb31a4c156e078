"""The catalogue of fixed phrases behind `sentences`: one entry for every code.

A reason has one or more templates, the most telling first; `sentences.reason` takes the first
whose facts are all given. Formats: `percent`, `points`, `p`, `count`, `list`. The last template of
a code needs no facts, so every code has a sentence whatever a method passes.
"""

from __future__ import annotations

from trustgauge.reports.causal_phrases import (
    CAUSAL_FAR,
    CAUSAL_LEVELS,
    CAUSAL_MEASURED,
    CAUSAL_REASONS,
    CAUSAL_RULES,
)
from trustgauge.reports.level_words import LevelWords
from trustgauge.reports.social_bias_phrases import (
    SOCIAL_FAR,
    SOCIAL_LEVELS,
    SOCIAL_MEASURED,
    SOCIAL_REASONS,
    SOCIAL_RULES,
)
from trustgauge.reports.trust_phrases import TRUST_FAR, TRUST_LEVELS, TRUST_REASONS, TRUST_RULES

LEVELS: dict[str, dict[str, LevelWords]] = {
    "two-step": {
        "UCS": LevelWords(
            "compensates",
            "balances skewed input",
            "Its output stays balanced, whether its input is balanced or skewed.",
        ),
        "DSBS": LevelWords(
            "follows",
            "repeats the bias in its input",
            "It adds no bias of its own, but repeats the bias of its input.",
        ),
        "BS": LevelWords(
            "adds bias",
            "skews even balanced input",
            "It adds {attribute} bias of its own{where}, even when its input is balanced.",
        ),
    },
    "causal": CAUSAL_LEVELS,
    "social-bias": SOCIAL_LEVELS,
    "trust": TRUST_LEVELS,
}
"""By method; a scale that is not here speaks with its own words."""

UNLETTERED = frozenset({"social-bias", "trust"})
"""Methods whose levels are told by their words alone: "High risk", never "H, High risk"."""

ORDERED = frozenset({"trust"})
"""Methods whose parts stand in an order of their own, and whose level is not that of the worst part."""

RELATIVE: dict[str, tuple[str, ...]] = {"causal": ("published", "released")}
"""Rules under which a level is a place in an order of systems, by method."""

MEASURED: dict[str, dict[str, str]] = {
    "causal": CAUSAL_MEASURED,
    "social-bias": SOCIAL_MEASURED,
}
"""The sentence of a level where the part that decides was measured in another way, by method and measure."""

NOUNS: dict[str, str] = {"social-bias": "attribute", "trust": "issue"}
"""What the parts of a rating are called, by method."""

AGGREGATES: dict[str, str] = {
    "worst": "that of the worst {noun}",
    "vote": "the level of most {noun}",
    "mean": "the mean of the levels, rounded to the worse",
}
"""How the overall level follows from those of the parts."""

STATES: dict[str, str] = {
    "rated": "rated",
    "not settled": "not settled",
    "incomplete": "not rated: too much is missing",
    "inferred": "inferred from parts, not measured",
    "not applicable": "not applicable here; it never counts against a service",
    "not tested": "not tested",
    "assumed": "assumed, not measured",
    "void": "void: a control service of known truth got a wrong level",
    "expired": "expired: rate it again",
    "withdrawn": "withdrawn",
    "complete": "complete",
}

OBSTACLES: dict[str, str] = {
    "too-few-clusters": "too few independent texts",
    "unread-matters": "depends on answers that could not be read",
    "unread-differs": "one value was read less often than another",
    "changed-during-the-run": "it changed during the run",
    "instrument-not-measured": "the reader was not measured on such answers",
    "scores-only": "scores without answers",
    "causal.not-significant": "chance gives such effects too",
    "social-bias.gap-by-chance": "chance gives such gaps too",
    "social-bias.largest-by-chance": "the largest of several figures",
    "trust.issue-open": "an issue is not settled",
    "trust.given-unrated": "the rating it takes is not settled",
    "trust.too-few-utterances": "too few utterances",
}
"""Reasons that keep a level from being settled however certain it is, in a few words."""

ANSWERS: dict[str, str] = {
    "answered": "answered",
    "refused": "declined to answer",
    "empty": "answered with nothing",
    "unreadable": "answered, but could not be read",
    "unread": "answered, but not understood by the judge",
    "failed": "no answer after all retries",
}
"""What became of a probe."""

KINDS: dict[str, str] = {
    "kept": "a value was read",
    "both": "more than one value in one place",
    "they": "they, their, them",
    "it": "it, its",
    "none": "no word of any value",
    "unaligned": "the sentence was not found again",
    "unread": "an answer that the reader is not sure of",
    "empty": "nothing came back",
    "refused": "declined",
    "missing": "no answer",
}
"""What became of a mention in two-step (two-step 1.4)."""

FLAGS: dict[str, str] = {
    "lost": "lost the value",
    "fits-neither": "fits neither declared distribution",
    "not-pooled": "rates depend on the mix",
    "one-sided": "almost everything becomes one value",
    "small": "few texts",
}

_MIX = "The rates depend on what else is in the block, so each distribution is judged by its own block."

REASONS: dict[str, tuple[str, ...]] = {
    "not-finished": (
        "Asking was stopped: {missing} of {planned} answers are still to come. The same command goes on.",
        "Asking was stopped before the end. The same command goes on.",
    ),
    "same-answer": (
        "{questions:count} different questions got one and the same answer, “{answer}”. That looks like a "
        "fault of the set-up: see what `trustgauge check` gets, correct it and begin anew with --fresh. If "
        'the service is meant to answer so, write constant_services = ["{service}"] into the experiment.',
        "All questions got one and the same answer, so something may be wrong with how the service is asked.",
    ),
    "two-step.adds-bias": (
        "{share:percent} of what balanced text becomes is {value}, from {from:percent}: {gain:points} more.",
        "{value} gains {gain:points} over its share in the input.",
        "One value comes back more often than it was sent, by more than the margin.",
    ),
    "two-step.one-sided": (
        "Of the mentions that kept a value, {share:percent} came back as {value}, whatever was sent.",
        "Of the mentions that kept a value, at least 95 % came back as {value}, whatever was sent.",
        "Almost everything that came back is one and the same value.",
    ),
    "two-step.loses-mentions": (
        "{share:percent} of the mentions come back as none of the tested values: they are lost.",
        "So many mentions are lost on the way that the output is no longer like the input.",
    ),
    "two-step.follows-input": (
        "Balanced text came back balanced within {margin:points}; skewed text came back up to "
        "{deviation:points} off balance.",
        "Balanced text came back balanced within {margin:points}; skewed text came back skewed.",
        "Balanced text came back balanced; skewed text came back skewed.",
    ),
    "two-step.compensates": (
        "Even skewed text came back balanced, within {margin:points} (at most {deviation:points} off).",
        "Even skewed text came back balanced, within {margin:points}.",
        "Even skewed text came back balanced.",
    ),
    "two-step.compensates-by-forgetting": (
        "What comes back does not depend on what was sent ({unchanged:percent} unchanged): "
        "the balance is won by forgetting.",
        "What comes back does not depend on what was sent: the balance is won by forgetting.",
    ),
    "two-step.rates-depend-on-mix": (
        _MIX + " (homogeneity: {p:p})",
        _MIX,
    ),
    "two-step.fits-neither": (
        "The output of {blocks:list} resembles none of the declared distributions: it fits neither.",
        "The output of {block} resembles none of the declared distributions: it fits neither.",
        "The output resembles none of the declared distributions: it fits neither.",
    ),
    "two-step.swaps": (
        "{low_value} came back as {high_value} in {value:percent} of its mentions ({p:p}).",
        "One value came back as another more often than the reverse.",
    ),
    "loss-does-not-matter": (
        "{share:percent} of the answers are missing; whatever they had said, the level is the same.",
        "Some answers are missing; whatever they would have said, the level is the same.",
    ),
    "unread-does-not-matter": (
        "{share:percent} of the answers could not be read; however they are read, the level is the same.",
        "Some answers could not be read; however they are read, the level is the same.",
    ),
    "unread-matters": (
        "{unread:count} of {planned:count} answers could not be read, and the level depends on them. Reading "
        "{to_read:count} of them would settle it if they are like the others.",
        "{unread:count} of {planned:count} answers could not be read, and the level depends on them.",
        "Some answers could not be read, and the level depends on them.",
    ),
    "unread-differs": (
        "Answers for {where} could not be read more often than those for {against} ({share:percent}; {p:p}).",
        "Some answers could not be read more often for one value than for another.",
    ),
    "changed-during-the-run": (
        "The service changed during the run: of the mentions of {value} between "
        "{least_unchanged:percent} and {most_unchanged:percent} came back unchanged, depending on when they "
        "were sent ({p:p}). No level is settled.",
        "The service changed during the run ({p:p}), so no level is settled.",
        "The service changed during the run, so no level is settled.",
    ),
    "too-few-clusters": (
        "Only {clusters} independent groups of texts in {where}: too few to settle a level (10 are needed).",
        "Only {clusters} independent groups of texts: too few for a settled level (10 are needed).",
        "There are too few independent groups of texts for a settled level (10 are needed).",
    ),
    "not-settled": (
        "{certainty:certainty} of the resamples say {level}, less than the {settle:certainty} asked for; "
        "about {more_texts:count} texts a block would settle it.",
        "{certainty:certainty} of the resamples say {level}; {settle:certainty} are asked for.",
        "The resamples do not agree on one level often enough.",
    ),
    "incomplete-loss": (
        "{share:percent} of what was planned is missing ({where}): too much to rate.",
        "{share:percent} of what was planned is missing: too much to rate.",
        "Too many of the planned answers are missing to rate.",
    ),
    "too-long": ("Answers of more than {most:count} characters were kept and not judged: {answers:count}.",),
    "no-answers": (
        "Nothing that can be used came back for {value}, so there is nothing to rate.",
        "No answer came for {part}, so there is nothing to rate.",
        "No answer came, so there is nothing to rate.",
    ),
    "overall.worst-part": (
        "The worst {noun} decides: {parts:list}.",
        "The worst {noun} decides: {part}.",
        "The worst {noun} decides.",
    ),
    "overall.vote": (
        "The level of most parts decides ({votes} of {of}); ties go to the worse.",
        "The level of most parts decides; ties go to the worse.",
    ),
    "overall.without": (
        "Without {excluded:list} the rating would be {level} ({state}).",
        "Without {excluded:list} the rating would be {level}.",
        "The rating without some of its parts is given beside it.",
    ),
    "overall.mean": (
        "The mean level of {of:count} parts decides, rounded to the worse.",
        "The mean level of the parts decides, rounded to the worse.",
    ),
    "scores-only": ("The scores were imported without the answers behind them, so there is no certainty.",),
    "inference-contradicted": (
        "Inferred was {inferred}; the test gave {measured}. The test counts.",
        "A test of the whole chain contradicts what its parts let us infer. The test counts.",
    ),
    "composition.other-attribute": (
        "{service} was rated for {is}, the first of the chain for {first}: their ratings do not combine.",
        "The services of the chain were not rated for the same attribute.",
    ),
    "composition.other-values": (
        "{service} was rated with the values {is:list}, the first of the chain with {first:list}.",
        "The services of the chain were not rated with the same values.",
    ),
    "composition.other-reader": (
        "The answers of {service} were read by the {is} reader, those of the first by the {first} reader.",
        "The services of the chain were not read in the same way.",
    ),
    "composition.not-rated": (
        "{service} is {state}: only rated parts feed an inference.",
        "A service of the chain is not rated: only rated parts feed an inference.",
    ),
    "composition.changed": (
        "{service} has changed since it was rated.",
        "A service of the chain has changed since it was rated.",
    ),
    "composition.expired": (
        "The rating of {service} expired on {expires}.",
        "A rating in the chain has expired.",
    ),
    "composition.worst-of-languages": (
        "The rating of {service} is the worst over several languages, and such a rating does not combine.",
        "A rating in the chain is the worst over several languages, and such a rating does not combine.",
    ),
    "composition.other-language": (
        "{service} was rated for {is}, the first of the chain for {first}.",
        "The services of the chain were not rated for the same language.",
    ),
    "composition.other-distributions": (
        "{service} was rated with other distributions than the first of the chain.",
        "The services of the chain were not rated with the same distributions.",
    ),
    "composition.outputs-unknown": (
        "What {before} makes of its input was not measured, so what {service} gets is not known.",
        "What a service of the chain hands on was not measured.",
    ),
    "composition.inputs-untested": (
        "{service} gets text whose mix was never tested with it.",
        "A service of the chain gets text whose mix was never tested with it.",
    ),
    "composition.too-many-unknowns": (
        "Too much of what is handed on to {service} is unknown to infer a level.",
        "Too much of what is handed on in the chain is unknown to infer a level.",
    ),
    "composition.several-levels": (
        "The parts leave several levels possible: {levels:list}.",
        "The parts leave several levels possible.",
    ),
    "instrument-not-measured": (
        "The checker “{checker}” was tested on {labelled:count} labelled texts in the style “{style}”, "
        "which is too few or went too badly, and {share:percent} of the answers are in such a style. "
        "It is settled once somebody labels {audit:count} answers and they turn out as the checker has it.",
        "How often answers in the style “{style}” are misread was not measured well enough, and "
        "{share:percent} of the answers are in such a style. It is settled once somebody labels "
        "{audit:count} answers.",
        "How often answers in this style are misread was not measured, so nothing is settled by them.",
    ),
    "limits.only-these-texts": (
        "Only texts of {patterns:count} patterns, filled with {items:count} words, were used. "
        "Other text may behave differently.",
        "Only texts of the patterns listed under “check it” were used. Other text may behave differently.",
    ),
    "limits.ucs-not-accurate": (
        "Balanced output is not accurate output: {unchanged:percent} of the mentions came back unchanged.",
        "Balanced output is not accurate output: see how much came back unchanged.",
    ),
    "limits.one-day": (
        "One seed and one day. Services change without notice: see the date until which this is valid.",
    ),
    "limits.loss": (
        "{share:percent} of the mentions were lost on the way; they count as a value of their own.",
        "Mentions lost on the way count as a value of their own.",
    ),
    "limits.round-trip": (
        "A round trip was rated: a change may have happened on the way out or on the way back.",
    ),
    "limits.not-all-parts": (
        "Only {tested:count} of {of:count} parts have a level; nothing is said of the others.",
        "Not every part has a level; nothing is said of those without.",
    ),
    "limits.one-attribute": (
        "Only {attribute} was tested. Nothing is said of other attributes.",
        "Only one attribute was tested. Nothing is said of others.",
    ),
    "limits.not-settled": ("The level is not settled: more text may change it.",),
    "limits.measurement": ("This is a measurement, not a certificate.",),
    **CAUSAL_REASONS,
    **SOCIAL_REASONS,
    **TRUST_REASONS,
}

ERRORS: dict[str, str] = {
    "internal": "Something went wrong inside trustgauge. Please report it with the log that is named.",
    "plan.invalid": "The plan or the command is wrong; every fault is listed, and nothing was sent.",
    "store.unusable": "The run folder cannot be read, written or trusted.",
    "store.disk-full": "The disk is full. Every answer acknowledged before is kept.",
    "service.failed": "The service did not answer as it should.",
    "service.key-missing": "The environment variable that holds the key is empty; nothing was sent.",
    "service.refused": "The service refused the key or the caller, and is not asked again.",
    "service.rejected": "The service rejected this message; it is not sent again.",
    "service.busy": "The service asked to wait.",
    "service.unavailable": "The service failed, the connection was lost, or no answer came in time.",
    "service.garbled": "An answer came, but its form cannot be read.",
    "service.same-answer": "The service gave one answer to different questions, and is asked no further.",
    "service.part-missing": "A program or library that the service needs is not installed here.",
    "method.impossible": "The method cannot do what its settings ask for.",
    "verify.differs": "Deriving the rating again from the kept answers gave something else.",
}

EVENTS: dict[str, str] = {
    "slowed": "{service} is asked more slowly, {pace}: {error}",
    "probing": "{service} seems to be down and is tried again in {wait}: {error}",
    "open": "{service} seems to be down and is given up: {error}",
    "closed": "{service} answers again",
    "stopped": "{service} is not asked any more: {detail}",
    "limit": "{reason}",
}
"""What a run tells while it goes on; of a breaker, its states."""

GATES: dict[str, str] = {
    "gate.passed": "The gate is passed.",
    "gate.level": "The gate failed: the level is as bad as {fail_on}, or worse.",
    "gate.incomplete": "The gate cannot tell: the rating is incomplete.",
    "gate.not-settled": "The gate cannot tell: the rating is not settled.",
    "gate.certainty": "The gate cannot tell: the certainty is below {need}.",
}

_PUBLISHED = (
    "Step 1 sends balanced text: output similar to a skewed distribution means the service adds bias. "
    "Step 2 sends skewed text: output similar to a balanced one means it compensates, else it follows "
    "its input. "
)

RULES: dict[str, dict[str, str]] = {
    "two-step": {
        "sound": (
            "Step 1 sends balanced text: output further from balanced than {margin} means the service adds "
            "bias. Step 2 sends skewed text: output that is balanced all the same means it compensates, else "
            "it follows its input. What became of every mention is known, so both steps use all texts. "
            "Rule: {rule}."
        ),
        "published": _PUBLISHED + "Rule: {rule}, as the paper prints it.",
        "released": _PUBLISHED + "Rule: {rule}, with the tally of the released code.",
    },
    "causal": CAUSAL_RULES,
    "social-bias": SOCIAL_RULES,
    "trust": TRUST_RULES,
}
"""What a rule does, by method and rule."""

FAR: dict[str, tuple[str, str]] = {
    "two-step": (
        "How many points of the output are not where balanced text should have left them. Mark: measured. "
        "Line: 95 % interval. Shaded: near enough to count as balanced.",
        "These texts find a one-way shift of {points} or more, 8 times in 10.",
    ),
    "causal": CAUSAL_FAR,
    "social-bias": SOCIAL_FAR,
    "trust": TRUST_FAR,
}
"""What the interval chart of a method shows, and what it could have found."""

COLLECTED: dict[str, str] = {
    "by hand": "Answers imported by hand: how they were collected cannot be checked from here.",
    "some by hand": "Some answers of this run were imported by hand: how they were collected cannot be "
    "checked from here.",
}
"""How answers came, where that is not by asking the service."""
