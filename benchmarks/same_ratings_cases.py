"""Plans over simulated services, for `same_ratings`: every control and rule, and what else a plan may choose.

Runs are small, because a difference between two versions of the program shows in small runs too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from trustgauge.services.controls import chat, sentiment, translators, trust

RULES = ("sound", "published", "released")
FEWER = 2
"""Seeds of the cases that differ from a rule set in one choice; the rule sets have all seeds."""

NOISY = '''
"""Services whose answers change, fail and are unreadable to known shares, by a hash of the text."""
import hashlib, re
from trustgauge.records import Reply

def chance(text, what):
    return int.from_bytes(hashlib.blake2b(f"{what}|{text}".encode(), digest_size=4).digest(), "big") / 2**32

def broken(message, failing, garbled):
    text = f"{message.text}|{message.draw}|{message.session}|{message.turn}"
    if chance(text, "fails") < failing:
        raise ValueError("no answer")
    return text, chance(text, "garbled") < garbled

SWAP = {"he": "she", "He": "She", "him": "her", "his": "her", "His": "Her"}

def translating(share, failing, garbled):
    def answer(message, **languages):
        text, odd = broken(message, failing, garbled)
        if odd:
            return "xx yy zz"
        place = [0]
        def change(found):
            place[0] += 1
            return SWAP[found[0]] if chance(text, place[0]) < share else found[0]
        return re.sub(r"\\b(he|He|him|his|His)\\b", change, message.text)
    return answer

def scoring(weight, failing, garbled):
    def answer(message):
        text, odd = broken(message, failing, garbled)
        if odd:
            return 7.5
        words = r"\\b(she|her|woman|girl|sister|mother|daughter|aunt)\\b"
        female = len(re.findall(words, message.text, re.I))
        return max(-1.0, min(1.0, weight * female + 0.6 * chance(text, "score") - 0.3))
    return answer

def chatting(share, failing, garbled):
    def answer(message):
        text, odd = broken(message, failing, garbled)
        if odd:
            return "asdf qwer zxcv"
        draw = chance(text, "kind")
        words = re.findall(r"\\w+", message.text)
        if draw < share:
            return "Yes."
        if draw < 0.6:
            return "No."
        if draw > 1 - share / 3:
            return "You idiot, shut up."
        return f"I see. Tell me more about {words[-1] if words else 'it'}."
    return answer

translate_least = translating(0.03, 0.0, 0.0)
translate_little, translate_much = translating(0.08, 0.005, 0.01), translating(0.5, 0.04, 0.03)
score_little, score_much = scoring(0.0, 0.005, 0.01), scoring(0.4, 0.04, 0.03)
chat_little, chat_much = chatting(0.2, 0.005, 0.01), chatting(0.5, 0.04, 0.03)
'''


Plan = dict[str, Any]


def noisy_services(kind: str, task: str, *shares: str) -> Plan:
    """Services of `NOISY`, "translate-little": name -> table of a plan."""
    return {
        f"{kind}-{share}": {
            "use": "function", "function": f"noisy:{kind}_{share}", "task": task, "takes": "message",
            "deterministic": True,
        }
        for share in shares
    }  # fmt: skip


def plan(services: Plan, **experiment: Any) -> Plan:
    """A plan of one experiment over these services."""
    return {"services": services, "experiments": [{"services": list(services), **experiment}]}


def translator_controls(attribute: str = "gender", values: tuple[str, str] = ("She", "He")) -> Plan:
    """Every behaviour of the translators with known behaviour."""
    about = {
        "use": "anchor",
        "task": "score" if attribute == "valence" else "translate",
        "attribute": attribute,
    }
    first, second = values
    moved = {"from_value": first, "to_value": second}
    settings: dict[str, Plan] = {
        "all": {"value": second},
        "lose": {"share": 0.2},
        "shift": {**moved, "share": 0.6},
        "swap": {**moved, "share": 0.3},
        "coin": {"distribution": {second: 0.5, first: 0.5}},
    }
    every = {
        name: {**about, "behaviour": name, **settings.get(name, {})}
        for name in get_args(translators.Behaviour)
    }
    return every | {"shift-little": {**about, "behaviour": "shift", **moved, "share": 0.1}}


def two_step() -> Iterator[tuple[str, Plan]]:
    """Cases of the two-step method: translators, round trips and scorers."""
    translating = noisy_services("translate", "translate", "little", "much")
    trips = {
        f"trip-{share}": {
            "use": "round-trip", "via": ["es", "ca", "es>it"],
            "translator": noisy_services("translate", "translate", share)[f"translate-{share}"],
        }
        for share in ("least", "little", "much")
    }  # fmt: skip
    every = translator_controls() | translating
    small = {"method": "two-step", "attribute": "gender", "texts": 30}
    for rule in RULES:
        yield f"two-step-{rule}", plan(every | trips, **small, rule=rule)
        yield f"two-step-{rule}+vote", plan(trips, **small, rule=rule, aggregate="vote")
    yield "two-step-sound+excluding", plan(trips, **small, excluding=["es"])
    for name, value in (("loss", "apart"), ("stop", "settled"), ("disguise", 0.5), ("stereotypes", True)):
        yield f"two-step-sound+{name}", plan(every, **small | {"texts": 60}, **{name: value})
    worship = translator_controls("worship", ("Church", "Mosque"))
    yield "two-step-sound+worship", plan(worship, **small | {"attribute": "worship"})
    scoring = translator_controls("valence", ("Positive", "Negative")) | noisy_services(
        "score", "score", "much"
    )
    yield "two-step-sound+valence", plan(scoring, **small | {"attribute": "valence"})


def causal() -> Iterator[tuple[str, Plan]]:
    """Cases of the causal method: scorers."""
    every = {
        name: {
            "use": "sentiment-anchor",
            "behaviour": name,
            **({"shift": 0.2, "gender": "female"} if name == "shift" else {}),
        }
        for name in get_args(sentiment.Behaviour)
    } | noisy_services("score", "score", "little", "much")
    few = {"frames": 10, "persons": 3}
    small = {"method": "causal", "groups": [1, 4], "resamples": 1000, "permutations": 999}
    for rule in RULES:
        size = few if rule == "sound" else {}
        yield f"causal-{rule}", plan(every, **small, **size, rule=rule)
        yield f"causal-{rule}+mean", plan(every, **small, **size, rule=rule, aggregate="mean")
    yield "causal-sound+vote", plan(every, **small, **few, aggregate="vote")
    yield "causal-sound+groups", plan(every, **small | {"groups": [2, 3]}, **few)
    yield "causal-sound+disguise", plan(every, **small, **few | {"frames": 20}, disguise=0.5)
    yield "causal-sound+range", plan(every, **small, **few, score_range=[-1, 1])


def social_bias() -> Iterator[tuple[str, Plan]]:
    """Cases of the social-bias method: chatbots."""
    every = {
        name: {
            "use": "chat-anchor",
            "behaviour": name,
            **({"group": "women"} if name in chat.PARTISANS else {}),
        }
        for name in get_args(chat.Behaviour)
    }
    chatting = noisy_services("chat", "chat", "little", "much")
    small = {
        "method": "social-bias", "attributes": ["gender", "age"], "groups": 2, "properties": 3,
        "questions": 400, "resamples": 1000, "permutations": 999,
    }  # fmt: skip
    for rule in RULES:
        yield f"social-bias-{rule}", plan(every | chatting, **small, rule=rule)
    for aggregate in ("mean", "vote"):
        yield f"social-bias-sound+{aggregate}", plan(every | chatting, **small, aggregate=aggregate)
    yield "social-bias-sound+chinese", plan(every, **small, language="zh")
    yield "social-bias-sound+both", plan(every | chatting, **small, format="both")
    yield "social-bias-sound+disguise", plan(every, **small, disguise=0.5)


def trust_method() -> Iterator[tuple[str, Plan]]:
    """Cases of the trust method: chatbots."""
    every = {name: {"use": "trust-anchor", "behaviour": name} for name in get_args(trust.Behaviour)}
    chatting = noisy_services("chat", "chat", "little", "much")
    small = {
        "method": "trust", "issues": ["abuse", "bias", "complexity", "leakage"],
        "profiles": ["privacy-first", "fairness-first", "safe-language"], "resamples": 1000,
    }  # fmt: skip
    for rule in RULES:
        yield f"trust-{rule}", plan(every | chatting, **small, rule=rule)
    yield "trust-sound+chinese", plan(every, **small | {"issues": ["abuse", "leakage"]}, language="zh")
    yield "trust-sound+disguise", plan(every, **small, disguise=0.5)


CASES = (two_step, causal, social_bias, trust_method)


def cases(seeds: int) -> Iterator[tuple[str, Plan]]:
    """Every case with each of its seeds, seed by seed: "causal-sound #3" and its plan."""
    for seed in range(1, seeds + 1):
        for of_method in CASES:
            for name, what in of_method():
                if seed <= FEWER or "+" not in name:
                    yield f"{name} #{seed}", {"name": name, "seed": seed, **what}


def as_toml(plan: Mapping[str, Any]) -> str:
    """A plan as TOML: plain values, a table for each service, a table for each experiment."""
    lines = [
        f"{key} = {_value(value)}" for key, value in plan.items() if key not in ("services", "experiments")
    ]
    for name, service in plan["services"].items():
        lines += [
            "",
            f"[services.{json.dumps(name)}]",
            *(f"{key} = {_value(value)}" for key, value in service.items()),
        ]
    for experiment in plan["experiments"]:
        lines += ["", "[[experiments]]", *(f"{key} = {_value(value)}" for key, value in experiment.items())]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return json.dumps(value)
