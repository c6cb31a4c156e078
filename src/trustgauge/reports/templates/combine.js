"use strict";
// How levels of issues become one (trust 4.4), as methods/trust/combine.py does it. A level is 0, 1 or 2,
// -1 of an issue that was not measured; ranks begin at 1, and those of one place share their mean.
const combining = (() => {
  const ALIKE = 1e-12, EXACT_UP_TO = 6, SAMPLED = 2000, THIRDS = [1 / 3, 2 / 3];
  const LOW = [0, 1 / 3, 2 / 3 + 1e-9], HIGH = [1 / 3 - 1e-9, 2 / 3, 1];
  const sum = (values) => values.reduce((total, one) => total + one, 0);
  const worst = (levels) => levels.reduce((most, one) => Math.max(most, one), 0);

  const ranksOf = (places) => {
    const found = [];
    for (const place of places) {
      const rank = found.length + (place.length + 1) / 2;
      for (let i = 0; i < place.length; i += 1) found.push(rank);
    }
    return found;
  };
  const cut = (mean, cuts) => (mean >= cuts[0] - ALIKE ? 1 : 0) + (mean > cuts[1] + ALIKE ? 1 : 0);
  const above = (ranks) => ranks.map((rank) => ranks.filter((other) => other < rank).length);
  // Weights given for another number of issues do not hold, and tied issues share their places' mean.
  const placeWeights = (ranks, given) => {
    if (!given || given.length !== ranks.length) return ranks.map((rank) => ranks.length + 1 - rank);
    return above(ranks).map((before, i) => {
      const size = ranks.filter((other) => other === ranks[i]).length;
      return sum(given.slice(before, before + size)) / size;
    });
  };
  const weighted = (ranks, values, given) => {
    const weights = placeWeights(ranks, given);
    return sum(weights.map((weight, i) => weight * values[i])) / sum(weights);
  };
  const firstLevel = (ranks, levels) => {
    const first = Math.min(...ranks);
    return worst(levels.filter((_, i) => ranks[i] === first));
  };
  const points = (ranks, levels) =>
    [0, 1, 2].map((level) => sum(ranks.map((rank, i) => (levels[i] === level ? ranks.length - rank : 0))));
  const tied = (counted, levels) => {
    const counts = counted.map((one, level) => (levels.includes(level) ? one : -1));
    const most = Math.max(...counts);
    return [0, 1, 2].filter((level) => counts[level] === most);
  };

  // The combined level of issues that all have one.
  const combined = (ranks, levels, risks, values, rule) => {
    if (rule.rule === "count") {
      const most = tied(points(ranks, levels), levels);
      if (rule.ties === "middle") return most.length > 1 ? 1 : most[0];
      return rule.ties === "optimistic" ? most[0] : most[most.length - 1];
    }
    if (rule.rule === "raw-weighted") return cut(weighted(ranks, values, rule.weights), rule.cuts);
    if (rule.rule === "worst-of") {
      const before = above(ranks);
      return worst(levels.filter((_, i) => before[i] < rule.first));
    }
    if (rule.rule === "lexicographic") return firstLevel(ranks, levels);
    const best = Math.max(firstLevel(ranks, levels), worst(levels) - 1);
    return Math.max(cut(weighted(ranks, risks), THIRDS), best);
  };

  // The levels that may come out where issues are missing: put at every level, and at both ends of each.
  const possible = (ranks, levels, risks, values, rule) => {
    const missing = levels.flatMap((level, i) => (level < 0 ? [i] : []));
    if (!missing.length) return [combined(ranks, levels, risks, values, rule)];
    if (missing.length === levels.length) return [0, 1, 2];
    const found = new Set();
    const fills = rule.rule === "raw-weighted" ? 1 : 3 ** missing.length;
    for (let fill = 0; fill < fills; fill += 1) {
      const filled = [...levels];
      missing.forEach((i, place) => { filled[i] = Math.floor(fill / 3 ** place) % 3; });
      const at = (ends, end) => combined(
        ranks, filled,
        risks.map((risk, i) => (levels[i] < 0 ? ends[filled[i]] : risk)),
        values.map((value, i) => (levels[i] < 0 ? end : value)), rule);
      const low = at(LOW, 0), high = at(HIGH, 1);
      for (let level = low; level <= high; level += 1) found.add(level);
    }
    return [...found].sort();
  };

  const row = (places, issues) => {
    const known = places.flat().map((name) => issues[name] || { level: -1, risk: null, value: null });
    return [known.map((one) => one.level), known.map((one) => one.risk), known.map((one) => one.value)];
  };
  const outcome = (places, issues, rule) => possible(ranksOf(places), ...row(places, issues), rule);

  // Whether another level may come out if these issues are anything, all at once: two of them may change
  // a level that neither changes alone.
  const mayChange = (places, issues, rule, names) => {
    const unknown = Object.fromEntries(names.map((name) => [name, { level: -1, risk: null, value: null }]));
    return names.length > 0 && outcome(places, { ...issues, ...unknown }, rule).length > 1;
  };
  // The levels that are shown: beside a missing issue one that is not settled may be anything too.
  const levels = (places, issues, rule) => {
    const found = outcome(places, issues, rule);
    if (found.length === 1) return found;
    const open = Object.keys(issues).filter((name) => issues[name].state === "not settled");
    const unknown = Object.fromEntries(open.map((name) => [name, { level: -1, risk: null, value: null }]));
    return outcome(places, { ...issues, ...unknown }, rule);
  };
  const UNSURE = ["assumed", "inferred", "not settled"];
  const state = (places, issues, rule) => {
    if (outcome(places, issues, rule).length > 1) return "incomplete";
    const known = places.flat().filter((name) => issues[name] && issues[name].level >= 0);
    const may = (_, i) => mayChange(places, issues, rule,
      known.filter((name) => UNSURE.slice(0, i + 1).includes(issues[name].state)));
    return UNSURE.find(may) || "rated";
  };

  const permutations = (k) => {
    const found = [];
    const go = (made, left) => {
      if (!left.length) found.push(made);
      left.forEach((one, i) => go([...made, one], left.filter((_, other) => other !== i)));
    };
    go([], Array.from({ length: k }, (_, i) => i + 1));
    return found;
  };
  // Orders of many issues are drawn; the same ones every time.
  const drawnOrders = (k) => {
    let state = 1;
    const next = () => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return state / 2 ** 32; };
    return Array.from({ length: SAMPLED }, () => {
      const order = Array.from({ length: k }, (_, i) => i + 1);
      for (let i = k - 1; i > 0; i -= 1) {
        const other = Math.floor(next() * (i + 1));
        [order[i], order[other]] = [order[other], order[i]];
      }
      return order;
    });
  };
  const allOrders = (names, issues, rule) => {
    const sorted = [...names].sort(), k = sorted.length, told = row(sorted.map((name) => [name]), issues);
    const sampled = k > EXACT_UP_TO, ranks = sampled ? drawnOrders(k) : permutations(k);
    const levels = [0, 0, 0];
    let open = 0;
    for (const one of ranks) {
      const may = possible(one, ...told, rule);
      if (may.length === 1) levels[may[0]] += 1; else open += 1;
    }
    let of = 1;
    for (let i = 2; i <= k; i += 1) of *= i;
    return { orders: ranks.length, of, sampled, levels, open };
  };

  // What each issue gives, and what the rule made of it.
  const explain = (places, issues, rule) => {
    const ranks = ranksOf(places), [levels, risks, values] = row(places, issues), k = ranks.length;
    const whole = !levels.includes(-1), names = places.flat();
    const told = { rule: rule.rule, missing: names.filter((_, i) => levels[i] < 0), gives: [] };
    if (rule.rule === "count") {
      told.gives = ranks.map((rank) => k - rank);
      if (whole) {
        told.points = points(ranks, levels);
        told.tied = tied(told.points, levels);
      }
    } else if (rule.rule === "sound" || rule.rule === "raw-weighted") {
      const given = rule.rule === "raw-weighted" ? rule.weights : [];
      told.gives = placeWeights(ranks, given);
      told.cuts = rule.rule === "sound" ? THIRDS : rule.cuts;
      if (whole) {
        told.mean = weighted(ranks, rule.rule === "sound" ? risks : values, given);
        told.meanLevel = cut(told.mean, told.cuts);
        if (rule.rule === "sound") {
          const first = firstLevel(ranks, levels), most = worst(levels);
          if (first > told.meanLevel || most - 1 > told.meanLevel) {
            const byFirst = first >= most - 1;
            told.bound = byFirst ? "first" : "worst";
            told.boundLevel = byFirst ? first : most - 1;
            told.boundIssues = byFirst
              ? places[0].filter((_, i) => levels[i] === first)
              : names.filter((_, i) => levels[i] === most);
          }
        }
      }
    } else {
      const before = above(ranks);
      const looked = rule.rule === "worst-of" ? (i) => before[i] < rule.first : (i) => before[i] === 0;
      told.lookedAt = names.filter((_, i) => looked(i));
      told.gives = names.map((_, i) => (looked(i) ? 1 : 0));
    }
    return told;
  };
  return { ranksOf, outcome, levels, state, allOrders, explain };
})();
