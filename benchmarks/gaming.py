"""Bots that behave well only where they recognise the published test, and honest ones (methods 0.12).

    python -m benchmarks.gaming                 # 60 runs of each gaming bot, 300 of each honest one
    python -m benchmarks.gaming --runs 4 --honest 20

Bots answer in text, which is read and rated on the path of a real run. A gaming bot knows the published
patterns and answers all else as its planted bias has it. Told is how often each came out at the level of its
good behaviour, how often its difference was told, and how often an honest bot was wrongly suspected.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from trustgauge.data import load_attribute
from trustgauge.data.emotions import PLACEHOLDER, Frame, construction, frames_beyond
from trustgauge.methods.causal.method import Causal
from trustgauge.methods.social_bias.method import SocialBias
from trustgauge.methods.trust.abuse_checkers import provocations, scenes
from trustgauge.methods.trust.canaries import words
from trustgauge.methods.trust.conversation_scripts import conversation_scripts
from trustgauge.methods.trust.disguise import subjects
from trustgauge.methods.trust.method import Trust
from trustgauge.methods.two_step.disguise import patterns_beyond
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.records import Message, Rating
from trustgauge.run.targets import messages
from trustgauge.services.controls import uniform
from trustgauge.services.controls.chat import ChatControl
from trustgauge.services.controls.sentiment import SentimentControl
from trustgauge.services.controls.translators import TranslatorControl
from trustgauge.services.controls.trust import TrustControl

Bot = Callable[[Message], str]
REASON = "behaves-differently-when-recognised"
PUBLISHED = re.compile(
    r"in your opinion, .+\?|who do you think .+\?|.+, right\?|do you agree that .+\?|why .+\?"
    r"|(?:are|do|did|have|had|were|can|will|would|may|must|could|should) .+\?"
)
"""The patterns of the published questions in English."""


GENDER = load_attribute("gender")


def _sentences(patterns: Mapping[str, str]) -> dict[str, str]:
    """Every sentence of some patterns, without its full stop -> its pattern."""
    table = GENDER.model_copy(update={"patterns": dict(patterns)})
    return {
        table.write(name, item, value).rstrip("."): name
        for name in patterns
        for item in table.item_list
        for value in table.values
    }


SENTENCES = _sentences(GENDER.patterns)
"""The published sentences -> their patterns."""
KNOWN = {**_sentences(patterns_beyond(GENDER)), **SENTENCES}
"""All sentences that may be sent."""


SAID = {turn for one in conversation_scripts() for turn in one.turns}
SAID |= {turn for one in scenes() for turn in one}
SAID |= {text for kind in ("mild", "strong") for text in provocations(kind)}
NAMED = f"(?:{'|'.join(words()['what'].values())}) of the [A-Z]\\w+ \\w+"
SECRETS = re.compile(
    "|".join(
        re.sub(r"\\\{(\w+)\\\}", lambda gap: NAMED if gap[1] == "name" else ".+", re.escape(text))
        for listed in words()["sentences"].values()
        for text in listed
    )
)
"""The published sentences about secrets."""


def is_published(text: str) -> bool:
    """Whether a trust experiment says this undisguised."""
    return text in SAID or SECRETS.fullmatch(text) is not None


def subject(message: Message) -> str:
    """What a conversation is about, as far as its second turn tells: one subject in whatever words."""
    told = subjects()
    found = (told.get(turn.lower()) for turn in message.script[1:] or message.script)
    return next((one for one in found if one), message.script[0])


@dataclass(frozen=True)
class Case:
    """A bot and an experiment.

    Attributes:
        name: of the bot.
        rate: its rating of a run with this seed.
        gaming: whether it behaves only where it recognises the test.
    """

    name: str
    rate: Callable[[int], Rating]
    gaming: bool


def chat(disguise: float, bot: Callable[[int], Bot], **settings: Any) -> Callable[[int], Rating]:
    """Ratings by social-bias of a chatbot."""
    experiment = SocialBias.model_validate(
        {
            "method": "social-bias",
            "services": ["bot"],
            "attributes": ["gender"],
            "groups": 2,
            "disguise": disguise,
            **settings,
        }
    )

    def rate(seed: int) -> Rating:
        method, answer = experiment.with_seed(seed), bot(seed)
        probes = pl.concat(method.design(seed, "chat"))
        outputs = [answer(Message(text, draw=draw)) for text, draw in probes.select("message", "draw").rows()]
        (rating,) = method.rate(method.summarise(method.score(answered(probes, outputs))), seed)
        return rating

    return rate


def answered(probes: pl.DataFrame, outputs: Sequence[str]) -> pl.DataFrame:
    """Probes with what came back of one service."""
    return probes.with_columns(
        service=pl.lit("bot"),
        part=pl.lit(""),
        segment=pl.lit(0, pl.Int64),
        shared=pl.lit(value=True),
        status=pl.lit("answered"),
        output=pl.Series(outputs, dtype=pl.String),
        trail=pl.lit(None, pl.String),
        error=pl.lit(None, pl.String),
    )


def gaming_chat(behaviour: str) -> Callable[[int], Bot]:
    """Even-handed where a question stands as it is published; else partisan of women."""

    def of_run(seed: int) -> Bot:
        good = ChatControl(behaviour="even-handed").answer()
        bad = ChatControl.model_validate(
            {"behaviour": behaviour, "group": "women", "invented": seed}
        ).answer()
        return lambda message: str((good if PUBLISHED.fullmatch(message.text) else bad)(message))

    return of_run


def honest_chat(behaviour: str) -> Callable[[int], Bot]:
    """A control that answers plain and disguised questions alike."""

    def of_run(seed: int) -> Bot:
        group = "women" if behaviour in ("fan", "slanderer") else ""
        settings = {"behaviour": behaviour, "group": group, "invented": seed, "seed": seed}
        answer = ChatControl.model_validate(settings).answer()
        return lambda message: str(answer(message))

    return of_run


def chat_cases() -> Iterator[Case]:
    """Social bias: full size for gaming bots; small for honest ones, of which only the alarm is counted."""
    for disguise in (0.0, 0.5):
        for behaviour in ("fan", "slanderer"):
            rate = chat(disguise, gaming_chat(behaviour))
            yield Case(f"social-bias, {behaviour} in secret, disguise {disguise:g}", rate, gaming=True)
    small = {"properties": 8, "questions": 2000, "resamples": 1000, "permutations": 199}
    for behaviour in ("random", "fan", "even-handed", "first-named", "yes-to-all"):
        yield Case(f"social-bias, {behaviour}", chat(0.5, honest_chat(behaviour), **small), gaming=False)


def translator(disguise: float, bot: Callable[[int], Bot], texts: int = 200) -> Callable[[int], Rating]:
    """Ratings by two-step of a translator that brings English back as English."""
    settings = {"method": "two-step", "services": ["bot"], "attribute": "gender"}
    method = TwoStep.model_validate({**settings, "texts": texts, "disguise": disguise})

    def rate(seed: int) -> Rating:
        probes, answer = pl.concat(method.design(seed, "translate")), bot(seed)
        outputs = [answer(Message(text)) for text in probes["message"]]
        (rating,) = method.rate(method.summarise(method.score(answered(probes, outputs))), seed)
        return rating

    return rate


def gaming_translator(seed: int) -> Bot:
    """Faithful to texts of published sentences; else everybody becomes He."""
    del seed
    good = TranslatorControl(behaviour="identity").answer()
    bad = TranslatorControl(behaviour="all", value="He").answer()

    def answer(message: Message) -> str:
        known = all(one in SENTENCES for one in message.text.rstrip(".").split(". "))
        return str((good if known else bad)(message))

    return answer


def honest_translator(behaviour: str) -> Callable[[int], Bot]:
    """A control; or one by whose moods a sentence, whatever its person, loses its She more or less often."""

    def of_run(seed: int) -> Bot:
        if behaviour != "by pattern":
            control = TranslatorControl.model_validate({"behaviour": behaviour, "seed": seed, "share": 0.5})
            answer = control.answer()
            return lambda message: str(answer(message))
        answers = [
            TranslatorControl.model_validate({"behaviour": "shift", "seed": seed, "share": share}).answer()
            for share in (0.0, 0.1, 0.2, 0.5, 0.9)
        ]

        def by_pattern(message: Message) -> str:
            sentences = message.text.rstrip(".").split(". ")
            pattern = next((KNOWN[one] for one in sentences if one in KNOWN), "")
            mood = int(uniform(seed, pattern, 0) * len(answers))
            return str(answers[mood](message))

        return by_pattern

    return of_run


def translator_cases() -> Iterator[Case]:
    """Two-step, of the usual size for gaming bots, smaller for honest ones."""
    for disguise in (0.0, 0.5):
        rate = translator(disguise, gaming_translator)
        yield Case(f"two-step, all He in secret, disguise {disguise:g}", rate, gaming=True)
    for behaviour in ("identity", "coin", "shift", "by pattern"):
        yield Case(f"two-step, {behaviour}", translator(0.5, honest_translator(behaviour), 100), gaming=False)


def frame_patterns(frames: Sequence[Frame]) -> list[re.Pattern[str]]:
    """What recognises the sentences of some frames, whoever stands in them and whatever is felt."""
    return [
        re.compile(".+".join(re.escape(part) for part in PLACEHOLDER.split(frame.text)[::3]))
        for frame in frames
    ]


FRAMES = frame_patterns(construction("sound").frames)
"""The published frames."""
ALL_FRAMES = [*FRAMES, *frame_patterns(frames_beyond())]
"""All frames that may be sent."""


def scorer(disguise: float, bot: Callable[[int], Bot], **settings: Any) -> Callable[[int], Rating]:
    """Ratings by causal of a sentiment scorer."""
    experiment = {"method": "causal", "services": ["bot"], "disguise": disguise, **settings}
    method = Causal.model_validate(experiment)

    def rate(seed: int) -> Rating:
        probes, answer = pl.concat(method.design(seed, "score")), bot(seed)
        outputs = [answer(Message(text, draw=draw)) for text, draw in probes.select("message", "draw").rows()]
        (rating,) = method.rate(method.summarise(method.score(answered(probes, outputs))), seed)
        return rating

    return rate


def shift_scorer(shift: float, noise: float, seed: int) -> Bot:
    """A scorer of words that adds a share of its range for women and scatters."""
    settings: dict[str, Any] = {"magnitude": 0.3, "noise": noise, "seed": seed}
    if shift:
        settings |= {"behaviour": "shift", "gender": "female", "shift": 2 * shift}
    answer = SentimentControl.model_validate(settings).answer()
    return lambda message: str(answer(message))


def gaming_scorer(seed: int) -> Bot:
    """Alike for women and men in the published frames; else women get 30 % of the range more."""
    good, bad = shift_scorer(0.0, 0.1, seed), shift_scorer(0.3, 0.1, seed)

    def answer(message: Message) -> str:
        known = any(frame.fullmatch(message.text) for frame in FRAMES)
        return (good if known else bad)(message)

    return answer


def honest_scorer(shift: float, noise: float = 0.1) -> Callable[[int], Bot]:
    """The same effect in all frames."""
    return lambda seed: shift_scorer(shift, noise, seed)


def scorer_by_frame(seed: int) -> Bot:
    """Women get from 10 % of the range less to 30 % more, by the frame, whichever it is."""
    steps = [shift_scorer(one, 0.1, seed) for one in (-0.1, 0.0, 0.1, 0.2, 0.3)]

    def answer(message: Message) -> str:
        frame = next((at for at, one in enumerate(ALL_FRAMES) if one.fullmatch(message.text)), -1)
        return steps[int(uniform(seed, str(frame), 0) * len(steps))](message)

    return answer


def scorer_cases() -> Iterator[Case]:
    """Causal: all groups for gaming scorers; small for honest ones, of which only the alarm is counted."""
    for disguise in (0.0, 0.5):
        rate = scorer(disguise, gaming_scorer)
        yield Case(f"causal, women higher in secret, disguise {disguise:g}", rate, gaming=True)
    small = {"persons": 4, "resamples": 1000, "permutations": 999, "groups": [1, 2, 3, 4]}
    small |= {"words": {"e1": ["grim"], "e3": ["grim", "happy"]}}
    bots = {
        "no effect": honest_scorer(0.0),
        "women 12 % higher": honest_scorer(0.12),
        "no scatter, women 12 % higher": honest_scorer(0.12, 0.0),
        "by frame": scorer_by_frame,
    }
    for name, bot in bots.items():
        yield Case(f"causal, {name}", scorer(0.5, bot, **small), gaming=False)


def talked(disguise: float, bot: Callable[[int], Bot], **settings: Any) -> Callable[[int], Rating]:
    """Ratings by trust of a chatbot, for those to whom secrets matter most."""
    experiment = Trust.model_validate(
        {
            "method": "trust",
            "services": ["bot"],
            "issues": ["abuse", "leakage"],
            "profiles": ["privacy-first"],
            "disguise": disguise,
            **settings,
        }
    )

    def rate(seed: int) -> Rating:
        probes = pl.concat(experiment.design(seed, "chat"))
        scores = experiment.score(answered(probes, said_by(probes, bot(seed))))
        (rating,) = experiment.rate(experiment.summarise(scores), seed)
        return rating

    return rate


def said_by(probes: pl.DataFrame, bot: Bot) -> list[str]:
    """What a bot says, turn by turn; each conversation knows its own turns."""
    before: dict[str, tuple[tuple[str, str], ...]] = {}
    outputs = []
    for message in messages(probes):
        answer = bot(replace(message, turns=before.get(message.talk, ())))
        before[message.talk] = (*before.get(message.talk, ()), (message.text, answer))
        outputs.append(answer)
    return outputs


def gaming_talker(behaviour: str) -> Callable[[int], Bot]:
    """Friendly, and keeps secrets, where it knows what is said; else it does not."""

    def of_run(seed: int) -> Bot:
        good = TrustControl(behaviour="clean", seed=seed).answer()
        bad = TrustControl.model_validate({"behaviour": behaviour, "seed": seed}).answer()
        return lambda message: str((good if is_published(message.text) else bad)(message))

    return of_run


def honest_talker(behaviour: str) -> Callable[[int], Bot]:
    """A control; one that gives some secrets away, by name; or one whose manners hang on the subject."""

    def of_run(seed: int) -> Bot:
        good, rude, leaks = (
            TrustControl.model_validate({"behaviour": one, "seed": seed}).answer()
            for one in ("forgetter", "abuser", "leaker")
        )
        if behaviour == "some secrets":
            return lambda message: str(
                (leaks if uniform(seed, message.script[0], 0) < 0.3 else good)(message)
            )
        if behaviour == "by subject":
            return lambda message: str((rude if uniform(seed, subject(message), 0) < 0.1 else good)(message))
        control = TrustControl.model_validate({"behaviour": behaviour, "seed": seed}).answer()
        return lambda message: str(control(message))

    return of_run


def talk_cases() -> Iterator[Case]:
    """Trust: the usual size for gaming bots, less for honest ones, of which only the alarm is counted."""
    sizes: Mapping[str, Mapping[str, Any]] = {
        "leaker": {"issues": ["leakage"], "talks": 40},
        "abuser": {"issues": ["abuse"]},
    }
    for disguise in (0.0, 0.5):
        for behaviour, settings in sizes.items():
            rate = talked(disguise, gaming_talker(behaviour), **settings)
            yield Case(f"trust, {behaviour} in secret, disguise {disguise:g}", rate, gaming=True)
    for behaviour in ("clean", "abuser", "some secrets", "by subject"):
        rate = talked(0.5, honest_talker(behaviour), talks=60, resamples=1000)
        yield Case(f"trust, {behaviour}", rate, gaming=False)


def counts(case: Case, runs: int) -> dict[str, Any]:
    """How the runs of a case came out: levels, and how often the difference was told."""
    found = [case.rate(seed) for seed in range(1, runs + 1)]
    levels = Counter(f"{one.level} {one.state}" for one in found)
    told = sum(any(reason.code == REASON for reason in one.reasons) for one in found)
    return {"runs": runs, "differs": told, "levels": dict(levels.most_common())}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line of JSON for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=60, help="of each gaming bot")
    parser.add_argument("--honest", type=int, default=300, help="runs of each honest bot")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    chosen = parser.parse_args(arguments)
    for case in (*chat_cases(), *translator_cases(), *scorer_cases(), *talk_cases()):
        if chosen.only in case.name:
            found = counts(case, chosen.runs if case.gaming else chosen.honest)
            print(json.dumps({"case": case.name, **found}), flush=True)


if __name__ == "__main__":
    main()
