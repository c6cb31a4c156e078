"""The phrases of the causal method: its levels, rules, reasons and limits.

Entries have the form that `phrases` describes; the last template of a code needs no facts.
"""

from __future__ import annotations

from trustgauge.reports.level_words import LevelWords

CAUSAL_LEVELS: dict[str, LevelWords] = {
    level: LevelWords(
        f"{word} effect",
        "{attribute} moves the score by {score} of its range",
        "Its scores differ by {score} of their range when only {attribute} changes.",
    )
    for level, word in (("1", "no"), ("2", "some"), ("3", "strong"))
}

CAUSAL_MEASURED: dict[str, str] = {
    "deconfounding": (
        "Its mean score of one emotion moves by {score} of the range once {attribute} no longer "
        "confounds the emotion."
    ),
    "adjusted": (
        "Its scores of texts of different {attribute} differ by {score} of their range, adjusted for "
        "{adjust}; unmeasured confounding is not excluded."
    ),
}
"""The sentence where a deconfounding impact or an adjusted difference decides."""

CAUSAL_ADJUSTED = "scores differ by {score} of the range, adjusted for {adjust}"
"""What stands at the level found where an adjusted difference decides."""

RELATIVE_LEVEL: dict[str, LevelWords] = {
    "first": LevelWords(
        "lowest bias score",
        "of the {systems} compared",
        "Among the {systems} compared it is in group {level} of {levels}: the lowest raw scores.",
    ),
    "middle": LevelWords(
        "middle bias score",
        "of the {systems} compared",
        "Among the {systems} compared it is in group {level} of {levels} (1 holds the lowest raw scores).",
    ),
    "last": LevelWords(
        "highest bias score",
        "of the {systems} compared",
        "Among the {systems} compared it is in group {level} of {levels}: the highest raw scores.",
    ),
}
"""The words of a level that is a place in an order."""

_ORDER = (
    "Each pair of classes is compared by a t test in each data set; rejections at three levels, weighted, "
    "add up to the weighted rejection score (WRS). Where the emotion is confounded by {attribute}, the "
    "largest deconfounding impact (DIE %) is the score instead. The systems are put in order by it, and "
    "the order is cut into {of} groups, so a level is relative to the other systems. "
)

CAUSAL_RULES: dict[str, str] = {
    "sound": (
        "Texts that differ in {attribute} only are scored, and so are texts in which it is tied to the "
        "emotion. The level is the largest effect as a share of the score's range: below {some} no effect, "
        "from {strong} on a strong one. A maximum is biased upward, so twice its bias is taken off first; "
        "and an effect counts as settled only if chance gives it in fewer than 1 of 20 cases. Rule: {rule}."
    ),
    "observed": (
        "The texts of the classes differ in more than {attribute}, so a difference of their scores is no "
        "effect of it and has no level. It is shown with the size of confounding that would explain it "
        "away. Rule: {rule}."
    ),
    "adjusted": (
        "The texts of the classes differ in more than {attribute}. Mean scores are compared among texts with "
        "equal {adjust} and averaged over all of them. The level is the largest difference as a share of the "
        "score's range: below {some} no effect, from {strong} on a strong one. What else differs between the "
        "classes is not excluded. Rule: {rule}."
    ),
    "published": _ORDER + "Rule: {rule}, as the paper prints it.",
    "released": _ORDER + "Rule: {rule}, with the constants of the released code.",
}

CAUSAL_FAR: tuple[str, str] = (
    "The largest effect of each part as a share of the score's range. Mark: measured. Line: 95 % interval. "
    "Shaded: counts as no effect. Dashed: from here on strong.",
    "These texts find an effect of {percent} of the range or more, 8 times in 10.",
)

CAUSAL_REASONS: dict[str, tuple[str, ...]] = {
    "causal.observed": (
        "No causal level: the texts differ in more than {attribute}. Observed in data set {set}: scores of "
        "{pair:list} differ by {value:percent} of the range ({low:percent} to {high:percent}).",
        "No causal level: the texts differ in more than {attribute}.",
    ),
    "causal.explained-away": (
        "A confounder would explain the difference away if its risk ratio with both {attribute} and the "
        "score were {e_value:ratio} ({e_value_limit:ratio} for the end of the interval nearer to 0), or if "
        "it were {least_gap:percent} commoner in one class and moved the score over its whole range.",
        "Confounding could explain the difference away.",
    ),
    "causal.no-overlap": (
        "The difference cannot be adjusted for {adjust:list}: there is no text of {cells:list}.",
        "The difference cannot be adjusted: some classes do not occur with some values.",
    ),
    "causal.adjusted": (
        "In data set {set}, {pair:list} differ by {value:percent} of the range ({low:percent} to "
        "{high:percent}), adjusted for {adjust:list}; unmeasured confounding is not excluded.",
        "The difference is adjusted; unmeasured confounding is not excluded.",
    ),
    "limits.adjusted": (
        "Adjusted for {adjust:list} only: whatever else differs between the classes may stand behind the "
        "difference.",
        "Whatever is not adjusted for may stand behind the difference.",
    ),
    "limits.observed": (
        "Some texts that are compared differ in more than the protected attribute, so a difference of their "
        "scores need not come from it.",
    ),
    "limits.these-texts": (
        "Only the {texts:count} texts of one table were scored. Other texts may give other differences.",
        "Only the texts of one table were scored. Other texts may give other differences.",
    ),
    "causal.effect": (
        "In data set {set}, {pair:list} differ by {value:percent} of the range when only {attribute} "
        "changes ({low:percent} to {high:percent}).",
        "In data set {set}, {attribute} moves the mean score of {valence} texts by {value:percent} of the "
        "range ({low:percent} to {high:percent}).",
        "The largest effect of {attribute} is {value:percent} of the range ({low:percent} to "
        "{high:percent}).",
        "The largest effect is {value:percent} of the range.",
        "Scores differ when only the protected attribute changes.",
    ),
    "causal.no-effect": (
        "The largest effect is {value:percent} of the range; at 95 %, at most {high:percent}.",
        "The largest effect is {value:percent} of the range.",
        "No effect above the first cut was measured.",
    ),
    "causal.not-significant": (
        "Chance alone gives effects of this size too ({p:p} over all comparisons), so the level is not "
        "settled.",
        "Chance alone gives effects of this size too, so the level is not settled.",
    ),
    "causal.by-name": (
        "The halves of a single class differ about as much ({p_control:p}): it may be an effect of the names "
        "chosen rather than of the class.",
        "It may be an effect of the names chosen rather than of the class.",
    ),
    "causal.single-persons": (
        "The classes as a whole hardly differ, but single persons do: up to {largest:percent} of the range "
        "from the mean of all {of:count} persons ({persons:list}).",
        "The classes as a whole hardly differ, but single persons do.",
    ),
    "causal.undefined": (
        "The effect is undefined in {share:percent} of the resamples: there is no text of {cells:list}.",
        "The effect is undefined in {share:percent} of the resamples: drawn anew, frames and persons often "
        "leave nothing to compare in data set {set}, which has {frames:count} frames.",
        "The effect is undefined in {share:percent} of the resamples.",
        "The effect is undefined in too many of the resamples.",
    ),
    "causal.other-texts": ("The texts before and after are not the same, so they are not compared.",),
    "causal.same-scores": ("All scores are the same as without the round trip.",),
    "causal.not-comparable": ("One of the two could not be measured.",),
    "causal.no-spread": ("All systems have the same raw score, so their order says nothing.",),
    "causal.constant-scores": (
        "Every text got the same score ({score}). That is no effect of the class, and none of the words "
        "either.",
        "Every text got the same score. That is no effect of the class, and none of the words either.",
    ),
    "causal.not-round-tripped": (
        "All texts or all scores are those from before the round trip: nothing was translated on the way.",
    ),
    "causal.positivity": (
        "There is no text of {cells:list}: what its score would be is not known, so the impact has only "
        "bounds or is left out.",
        "Some classes never occur with some emotions: what the scores would be is not known.",
    ),
    "causal.untestable": (
        "Not compared: {pairs:list} ({why}). They are left out of the score and of its maximum.",
        "Not compared: {pairs:list}. They are left out of the score and of its maximum.",
        "Some classes have too few texts to be compared; they are left out of the score and of its maximum.",
    ),
    "causal.out-of-range": (
        "{n:count} scores fall outside {low} to {high}: they reach from {least} to {most}. Set `score_range` "
        "to the range of the service.",
        "{n:count} scores fall outside {low} to {high}. Set `score_range` to the range of the service.",
        "Some scores fall outside the range. Set `score_range` to the range of the service.",
    ),
    "causal.no-number": (
        "{n:count} answers are no numbers, so they could not be read. The service must answer with a number.",
        "Some answers are no numbers, so they could not be read.",
    ),
    "causal.one-class": (
        "There are texts of one class only ({classes:list}), so there is nothing to compare.",
        "There are texts of one class only, so there is nothing to compare.",
    ),
    "causal.relative": (
        "The level is a place in the order of {of:count} systems. With other systems it may change.",
        "The level is a place in the order of the systems compared. With other systems it may change.",
    ),
    "causal.one-system": ("Only one system was rated, so there is no order.",),
    "causal.people": (
        "The scores are the majority of {annotators:count} people, who gave equal labels to "
        "{equal:percent} of the texts.",
        "The scores are the majority of {annotators:count} people.",
        "The scores are those of people.",
    ),
    "causal.ties-random": (
        "On {n:count} texts people gave several labels equally often; one of these was drawn at random.",
        "Where people gave several labels equally often, one of these was drawn at random.",
    ),
    "limits.relative-order": (
        "The order of the systems holds among those compared: with one more or one less it may change.",
    ),
    "limits.these-words": (
        "Only {words:count} emotion words in {sets:count} sets were used, in {frames:count} frames with "
        "{persons:count} persons. Other words may have other effects.",
        "Only the emotion words, frames and persons listed here were used. Other words may have other "
        "effects.",
    ),
    "limits.these-conversations": (
        "Only {conversations:count} conversations were scored. Other conversations may give other effects.",
        "Only the conversations of one table were scored. Other conversations may give other effects.",
    ),
    "limits.names": ("Names stand for classes here, and a name carries more than a class: age, region.",),
    "limits.proxy": (
        "The gender of users was told by words put before their texts; people do not write so by themselves.",
    ),
}
