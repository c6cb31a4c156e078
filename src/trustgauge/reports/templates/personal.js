(() => {
  const one = (what) => document.querySelector(what);
  const data = JSON.parse(one("#data").textContent);
  const { card: CARD, moves: MOVES, ties: TIES, risks: RISKS, combining: COMBINING, how: HOW } = data.words;
  const LETTERS = Object.keys(RISKS), SAVED = "trustgauge.profiles", HELD = ["rated", "assumed", "inferred"];
  const names = Object.keys(data.issues);
  for (const tools of document.querySelectorAll(".tools")) tools.hidden = false;

  const fill = (words, facts) => words.replace(/\{(\w+)\}/g, (_, key) => facts[key]);
  const listing = (all, last = "and") =>
    (all.length < 2 ? all.join("") : `${all.slice(0, -1).join(", ")} ${last} ${all[all.length - 1]}`);
  const make = (kind, text, look) => {
    const node = document.createElement(kind);
    if (text) node.textContent = text;
    if (look) node.className = look;
    return node;
  };
  const risk = (level) => RISKS[LETTERS[level]];
  const short = (all) => listing(all.map((name) => data.issues[name].short));
  const count = (n) => n.toLocaleString("en");

  // The order: places, most important first; those of one place matter alike.
  let places = data.order.places.map((place) => [...place]);
  let rule = data.rule;
  const same = (first, second) => JSON.stringify(first.map((place) => [...place].sort()))
    === JSON.stringify(second.map((place) => [...place].sort()));
  const code = (name) => data.issues[name].code;
  const address = () => {
    const order = places.map((place) => place.map((name) => encodeURIComponent(code(name))).join("=")).join(",");
    return `#o=${order}&r=${rule}`;
  };
  const parsed = (hash) => {
    const asked = Object.fromEntries(hash.slice(1).split("&").map((part) => {
      const at = part.indexOf("=");
      return [part.slice(0, at), part.slice(at + 1)];
    }));
    let order = null;
    try {
      order = (asked.o || "").split(",").map((place) => place.split("=").map((written) => {
        const text = decodeURIComponent(written).toLowerCase();
        return names.find((name) => code(name).toLowerCase() === text || name === text);
      }));
    } catch { return null; }
    const flat = order.flat();
    const right = flat.every(Boolean) && new Set(flat).size === flat.length;
    return right && (!asked.r || data.rules[asked.r]) ? [order, asked.r || data.rule] : null;
  };
  const keep = () => {
    try { history.replaceState(null, "", address()); } catch { location.hash = address(); }
  };

  // Moving, sharing, leaving out.
  const placeOf = (name) => places.findIndex((place) => place.includes(name));
  const without = (name) => places.map((place) => place.filter((other) => other !== name)).filter((place) => place.length);
  const move = (name, way) => {
    const at = placeOf(name), alone = places[at].length === 1;
    const next = places.map((place) => place.filter((other) => other !== name));
    const to = alone ? at + way : at;
    if (to < 0 || to >= places.length) return false;
    next.splice(way < 0 ? to : to + 1, 0, [name]);
    places = next.filter((place) => place.length);
    return true;
  };
  const shares = (name) => places[placeOf(name)][0] !== name;
  const share = (name) => {
    const at = placeOf(name);
    if (shares(name)) {
      places[at] = places[at].filter((other) => other !== name);
      places.splice(at + 1, 0, [name]);
    } else if (at > 0) {
      const [mine] = places.splice(at, 1);
      places[at - 1].push(...mine);
    }
  };
  const moved = (name) => {
    const at = placeOf(name);
    if (at < 0) return fill(MOVES.out, { issue: data.issues[name].title });
    const words = places[at].length > 1 ? MOVES.shares : MOVES.now;
    return fill(words, { issue: data.issues[name].title, place: at + 1, places: places.length });
  };

  // What every service comes to.
  const cache = new Map();
  const allOrders = (service, settings) => {
    const key = [service.id, rule, ...places.flat().sort()].join(" ");
    if (!cache.has(key)) cache.set(key, combining.allOrders(places.flat(), service.issues, settings));
    return cache.get(key);
  };
  const rated = (service, settings) => {
    const levels = combining.levels(places, service.issues, settings);
    const state = combining.state(places, service.issues, settings);
    return { service, levels, state, told: combining.explain(places, service.issues, settings) };
  };
  const keys = (rows, settings) => {
    const found = rows.map((row) => [row.levels[0]]);
    if (settings.rule !== "lexicographic") return found;
    for (const place of places) {
      const levels = rows.map((row) => place.map((name) => (row.service.issues[name] || { level: -1 }).level));
      if (levels.flat().includes(-1)) break;
      levels.forEach((mine, i) => found[i].push(...mine.sort((a, b) => b - a)));
    }
    return found;
  };
  const compare = (first, second) => {
    for (let i = 0; i < first.length; i += 1) if (first[i] !== second[i]) return first[i] - second[i];
    return 0;
  };
  const ranked = (settings) => {
    const rows = data.services.map((service) => rated(service, settings));
    const able = rows.filter((row) => HELD.includes(row.state)), order = keys(able, settings);
    able.forEach((row, i) => {
      row.place = 1 + order.filter((other) => compare(other, order[i]) < 0).length;
      row.shown = (order.filter((other) => !compare(other, order[i])).length > 1 ? "=" : "") + row.place;
    });
    const last = (row) => row.place || rows.length + 1;
    const worst = (row) => row.levels[row.levels.length - 1];
    const named = (row) => row.service.name;
    return rows.sort((a, b) => last(a) - last(b) || worst(a) - worst(b)
      || (named(a) < named(b) ? -1 : named(a) > named(b) ? 1 : 0));
  };

  // The words of a card, from the same phrases as the report.
  const apart = (mean, cuts) => {
    const said = (digits) => [mean, ...cuts].map((one) => one.toFixed(digits));
    const off = (cut, digits) => Math.abs(Number(cut.toFixed(digits)) - cut);
    const shows = (digits) => cuts.every((cut, i) => (said(digits)[0] !== said(digits)[i + 1]
      || Math.abs(mean - cut) < 1e-9) && !(off(cut, digits) > 1e-9 && off(cut, 6) < 1e-9));
    return said([2, 3, 4, 5].find(shows) || 6);
  };
  const arithmetic = (told, settings) => {
    if (told.points) {
      const [L, M, H] = told.points;
      const tie = told.tied.length > 1 ? fill(CARD.tie, { ties: TIES[settings.ties] }) : "";
      return `${fill(CARD.points, { L, M, H })}${tie}.`;
    }
    if (told.mean !== undefined) {
      const [mean, low, high] = apart(told.mean, told.cuts), facts = { mean, level: risk(told.meanLevel), low, high };
      const bound = told.bound
        ? fill(CARD[`bound-${told.bound}`], { level: risk(told.boundLevel), issues: short(told.boundIssues) }) : "";
      return `${fill(CARD[`mean-${told.rule}`], facts)}${bound}.`;
    }
    return told.lookedAt ? `${fill(CARD[told.rule], { first: settings.first, issues: short(told.lookedAt) })}.` : "";
  };
  const ordersSaid = (told) => {
    const [L, M, H] = told.levels;
    const key = told.sampled ? "sampled" : told.orders === 1 ? "one-order" : "orders";
    const words = fill(CARD[key], { orders: count(told.orders), of: count(told.of), L, M, H });
    return `${words}${told.open ? fill(CARD.open, { open: told.open }) : ""}.`;
  };
  const flags = (row) => {
    const { service, told, levels } = row, said = [], flat = places.flat();
    if (told.rule === "count" && levels.length === 1) flat.forEach((name, i) => {
      const issue = service.issues[name];
      if (told.gives[i] === 0 && issue && issue.level > levels[0]) {
        said.push(fill(CARD["not-counted"], { issue: data.issues[name].title, level: risk(issue.level) }));
      }
    });
    if (levels.length > 1) {
      said.push(fill(CARD.depends, { levels: listing(levels.map(risk), "or"), issues: short(told.missing) }));
    }
    for (const name of flat) {
      const state = (service.issues[name] || {}).state, issue = data.issues[name].title;
      if (state === "assumed") said.push(fill(CARD.assumed, { issue }));
      if (state === "not settled") said.push(fill(CARD.unsettled, { issue }));
    }
    if (service.standing) said.push(service.standing);
    return said;
  };
  const counts = (name, told) => {
    const at = places.flat().indexOf(name), gives = told.gives[at];
    if (told.rule === "count" && !gives) return placeOf(name) === places.length - 1 ? CARD.last : CARD.none;
    if (told.rule === "lexicographic") return gives ? CARD.decides : CARD["orders-only"];
    if (told.rule === "worst-of") return gives ? CARD["looked-at"] : CARD.ignored;
    return fill(CARD.counts, { weight: gives });
  };

  const block = (name, issue, weight) => {
    const box = make("div", "", `wide${Math.max(1, Math.floor(10 * weight + 0.5))}`);
    const known = issue && issue.level >= 0, state = issue ? issue.state : "not tested";
    const look = `block ${known ? `l${issue.level + 1}` : "none"}${weight ? "" : " idle"}`;
    const word = known ? risk(issue.level) + (state === "rated" ? "" : ` · ${state}`) : state;
    const named = data.issues[name].short, score = issue && issue.score ? ` ${issue.score}` : "";
    box.append(
      make("span", word, look + (known && state !== "rated" ? " dashed" : "")),
      make("span", named[0].toUpperCase() + named.slice(1) + score, "under"));
    return box;
  };
  const pill = (row) => {
    const words = `${listing(row.levels.map(risk), "or")} risk`;
    if (row.levels.length > 1) return make("span", words, "untested");
    const node = make("span", "", `pill l${row.levels[0] + 1}${row.state === "rated" ? "" : " dashed"}`);
    node.append(one(`#mark-${LETTERS[row.levels[0]]}`).content.cloneNode(true), make("b", words));
    return node;
  };
  const drawCard = (row, settings) => {
    const { service, told } = row, item = make("li", "", "card"), head = make("div", "", "card-head");
    item.dataset.id = service.id;
    item.dataset.levels = row.levels.map((level) => LETTERS[level]).join("");
    item.dataset.state = row.state;
    const title = make("h3"), named = make(service.report ? "a" : "bdi", service.name);
    if (service.report) { named.href = service.report; named.dir = "auto"; }
    title.append(named, " ", make("span", service.version, "second light"));
    head.append(make("span", row.shown || "–", "place"), title, pill(row));
    if (!["rated", "incomplete"].includes(row.state)) head.append(make("span", row.state, "under"));
    const total = told.gives.reduce((sum, gives) => sum + gives, 0) || 1, blocks = make("div", "", "blocks");
    places.flat().forEach((name, i) => blocks.append(block(name, service.issues[name], told.gives[i] / total)));
    const lines = [arithmetic(told, settings), ordersSaid(allOrders(service, settings))].filter(Boolean);
    item.append(head, blocks, make("p", lines.join(" ")), ...flags(row).map((said) => make("span", said, "flag")));
    return item;
  };

  const button = (text, label, act, more = {}) => {
    const node = make("button", text);
    node.type = "button";
    node.setAttribute("aria-label", label);
    node.addEventListener("click", act);
    for (const [name, value] of Object.entries(more)) node.setAttribute(name, value);
    return node;
  };
  const drawIssue = (name, told) => {
    const { title } = data.issues[name], at = placeOf(name), flat = places.flat(), item = make("li", "", "card");
    item.dataset.issue = name;
    if (shares(name)) item.classList.add("shared");
    const text = make("span"), moves = make("span", "", "moves");
    text.append(make("b", title), make("span", counts(name, told), "under"));
    const step = (way, label, sign, act, dead) => {
      const node = button(sign, `${label}: ${title}`, () => change(name, act, way), { "data-act": way });
      node.disabled = dead;
      return node;
    };
    const alone = places[at].length === 1;
    const shared = step("share", "Same place as the one above", "=", () => share(name), flat[0] === name);
    shared.setAttribute("aria-pressed", String(shares(name)));
    moves.append(
      step("up", "Move up", "▲", () => move(name, -1), alone && at === 0),
      step("down", "Move down", "▼", () => move(name, 1), alone && at === places.length - 1),
      shared,
      step("out", "Leave out", "×", () => { places = without(name); }, flat.length === 1));
    const handle = button("⠿", `${title}, number ${at + 1} of ${places.length}. Drag it, or press Alt and an arrow`,
      () => {}, { "data-act": "handle" });
    handle.className = "handle";
    drag(handle, name);
    item.append(handle, make("span", String(at + 1), "number"), text, moves);
    item.addEventListener("keydown", (event) => {
      const way = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!event.altKey || !way) return;
      event.preventDefault();
      change(name, () => move(name, way), event.target.dataset.act);
    });
    return item;
  };

  // A row follows the pointer: it takes the place of the row that the pointer is over.
  const drag = (handle, name) => {
    handle.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      event.preventDefault();
      const before = JSON.stringify(places);
      const over = (event) => {
        for (let steps = 0; steps < names.length; steps += 1) {
          const rows = [...one("#order").children], at = rows.findIndex((row) => row.dataset.issue === name);
          const middle = (row) => { const box = row.getBoundingClientRect(); return box.top + box.height / 2; };
          if (at > 0 && event.clientY < middle(rows[at - 1])) move(name, -1);
          else if (at < rows.length - 1 && event.clientY > middle(rows[at + 1])) move(name, 1);
          else return;
          render();
          one(`#order li[data-issue="${CSS.escape(name)}"]`).classList.add("dragged");
        }
      };
      const done = () => {
        removeEventListener("pointermove", over);
        removeEventListener("pointerup", done);
        removeEventListener("pointercancel", done);
        if (JSON.stringify(places) !== before) change(name, () => {}, "handle"); else render();
      };
      addEventListener("pointermove", over);
      addEventListener("pointerup", done);
      addEventListener("pointercancel", done);
    });
  };

  const say = (first) => {
    const rows = ranked(data.rules[rule]);
    const named = (wanted) => rows.filter((row) => row.place === wanted).map((row) => row.service.name);
    const best = named(1), open = named(undefined);
    const told = best.length ? fill(MOVES.best, { services: listing(best) }) : MOVES["no-best"];
    const rest = best.length && open.length ? fill(MOVES.unranked, { services: listing(open) }) : "";
    one("#status").textContent = [first, told, rest].filter(Boolean).join(" ");
  };
  const change = (name, act, control) => {
    act();
    keep();
    render();
    const row = one(`#order li[data-issue="${CSS.escape(name)}"]`) || one("#order li");
    const wanted = row.querySelector(`[data-act="${control}"]`);
    (wanted && !wanted.disabled ? wanted : row.querySelector('[data-act="handle"]')).focus();
    say(moved(name));
  };
  const start = (order, said) => {
    places = order.map((place) => place.filter((name) => names.includes(name))).filter((place) => place.length);
    keep();
    render();
    say(said);
  };

  // Profiles of the user stay in this browser, if it keeps anything for files.
  const memory = {};
  const saved = () => {
    try { return JSON.parse(localStorage.getItem(SAVED) || "{}") || {}; } catch { return memory; }
  };
  const store = (all) => {
    try { localStorage.setItem(SAVED, JSON.stringify(all)); return true; } catch { Object.assign(memory, all); return false; }
  };
  const drawStart = () => {
    const box = one("#start"), own = saved(), focused = document.activeElement && document.activeElement.dataset.start;
    const named = [
      ...data.profiles.map((profile) => [profile.title, profile.places]),
      ...Object.entries(own).filter(([, order]) => Array.isArray(order) && order.every(Array.isArray)
        && order.flat().some((name) => names.includes(name))),
    ];
    box.replaceChildren(make("span", "Start from:", "second"), ...named.map(([title, order]) => {
      const node = make("button", title);
      node.type = "button";
      node.dataset.start = title;
      node.setAttribute("aria-pressed", String(same(order, places)));
      node.addEventListener("click", () => start(order, fill(MOVES.profile, { profile: title })));
      return node;
    }));
    if (Object.keys(own).length) {
      const node = make("button", "Forget saved profiles");
      node.type = "button";
      node.addEventListener("click", () => {
        for (const name of Object.keys(memory)) delete memory[name];
        store({});
        drawStart();
        one("#name").focus();
        one("#status").textContent = MOVES.forgot;
      });
      box.append(node);
    }
    const again = [...box.children].find((node) => focused && node.dataset.start === focused);
    if (again) again.focus();
    const known = named.find(([, order]) => same(order, places));
    one("#h-order").textContent = known ? known[0] : "Your order";
  };

  const ruleTitle = (name, settings = data.rules[name]) => COMBINING[settings.rule]
    + (name === "of-the-plan" ? " (of the plan)" : settings.rule !== "count" ? "" : settings.ties === "pessimistic" ? " (published)" : `, ties to the ${TIES[settings.ties]}`);
  const drawOut = () => {
    const left = names.filter((name) => placeOf(name) < 0);
    one("#out").replaceChildren(...left.map((name) => button(
      `Put back: ${data.issues[name].short}`, `Put back: ${data.issues[name].title}`,
      () => change(name, () => places.push([name]), "handle"))));
  };
  const render = () => {
    const settings = data.rules[rule], rows = ranked(settings);
    const told = combining.explain(places, {}, settings);
    one("#order").replaceChildren(...places.flat().map((name) => drawIssue(name, told)));
    one("#cards").replaceChildren(...rows.map((row) => drawCard(row, settings)));
    drawOut();
    drawStart();
    one("#rule").value = rule;
    const facts = { ...settings, ties: TIES[settings.ties], low: settings.cuts[0], high: settings.cuts[1] };
    one("#how").textContent = `${ruleTitle(rule)}: ${fill(HOW[settings.rule], facts)}.`;
  };

  one("#rule").append(...Object.keys(data.rules).map((name) => {
    const option = make("option", ruleTitle(name));
    option.value = name;
    return option;
  }));
  one("#rule").addEventListener("change", () => {
    rule = one("#rule").value;
    keep();
    render();
    say(fill(MOVES.rule, { rule: ruleTitle(rule) }));
  });
  one("#copy").addEventListener("click", async () => {
    keep();
    let words = MOVES.copied;
    try { await navigator.clipboard.writeText(location.href); } catch { words = MOVES.address; }
    one("#status").textContent = words;
  });
  one("#save").addEventListener("click", () => {
    const name = one("#name").value.trim() || "My profile";
    const kept = store({ ...saved(), [name]: places });
    drawStart();
    one("#status").textContent = kept ? fill(MOVES.saved, { profile: name }) : MOVES.unsaved;
  });
  const read = () => {
    if (!location.hash.startsWith("#o=")) return;
    const asked = parsed(location.hash);
    if (asked) [places, rule] = asked; else one("#status").textContent = MOVES.wrong;
  };
  addEventListener("hashchange", () => { read(); render(); });
  read();
  render();
})();
