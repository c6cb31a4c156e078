"use strict";
(() => {
  const one = (what, within) => (within || document).querySelector(what);
  const all = (what, within) => [...(within || document).querySelectorAll(what)];
  const views = ["chooser", "developer", "auditor"];
  const step = 50;
  for (const tools of all(".tools")) tools.hidden = false;

  const stale = one("#stale");
  const until = stale.dataset.expires;
  if (until && new Date().toISOString().slice(0, 10) > until) stale.hidden = false;
  addEventListener("beforeprint", () => { for (const fold of all("details.moved")) fold.open = true; });
  one("#print").addEventListener("click", () => window.print());

  // The address keeps the view and the filters: "#as=auditor&part=es&changed=1".
  const kept = () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  const keep = (name, value) => {
    const now = kept();
    if (value) now.set(name, value); else now.delete(name);
    const text = now.toString();
    try { history.replaceState(null, "", text ? "#" + text : location.pathname); } catch { location.hash = text; }
  };

  // Sections are moved in the document itself, so that reading and tab order follow the view.
  const as = one("#as");
  const arrange = () => {
    const index = Math.max(0, views.indexOf(as.value));
    const rank = (node) => Number((node.dataset.rank || "50 50 50").split(" ")[index]);
    for (const box of [one("#views"), ...all("article")]) {
      const parts = [...box.children].sort((a, b) => rank(a) - rank(b));
      box.append(...parts);
    }
    for (const id of ["#anchor-table", "#coverage-table"]) {
      if (one(id)) one(id).open = as.value === "auditor";
    }
  };
  as.addEventListener("change", () => { keep("as", as.value === "chooser" ? "" : as.value); arrange(); });

  // A link to a folded rating opens its fold.
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
    if (target && target.closest("article details")) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);

  const mask = one("#mask");
  const unmask = () => {
    const open = mask && mask.getAttribute("aria-pressed") === "true";
    for (const hidden of all("details.off")) hidden.open = open;
  };
  if (mask) mask.addEventListener("click", () => {
    const open = mask.getAttribute("aria-pressed") !== "true";
    mask.setAttribute("aria-pressed", String(open));
    mask.textContent = open ? "Hide offensive text" : "Show offensive text";
    unmask();
  });

  const table = one("#rows");
  if (!table) { as.value = views.includes(kept().get("as")) ? kept().get("as") : "chooser"; arrange(); reveal(); return; }
  const body = one("tbody", table);
  const [services, parts, trail] = table.dataset.wide.split(" ").map(Number);
  const filters = Object.fromEntries(all("[data-filter]").map((field) => [field.dataset.filter, field]));
  const shown = one("#shown"), none = one("#none"), more = one("#more");
  const total = Number(shown.dataset.total);
  let rows = [...body.rows].map((row) => ({ id: row.id, f: row.dataset.f.split(","), row, text: "" }));
  let cap = step;

  const make = (kind, text) => {
    const node = document.createElement(kind);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const fold = (label, inside, kind) => {
    const box = make("details");
    box.className = kind;
    box.append(make("summary", label), inside);
    return box;
  };
  const words = ([pieces, rest, length, language, offensive]) => {
    const text = make("bdi");
    if (language) text.lang = language;
    text.dir = "auto";
    for (const [word, changed] of pieces) {
      const piece = make(changed ? "b" : "span", word);
      if (changed) piece.className = "ch";
      text.append(piece);
    }
    const shownText = offensive ? fold("████ show", text, "off") : text;
    if (!rest) return [shownText];
    const tail = make("bdi", rest);
    tail.dir = "auto";
    return [shownText, fold(`show more (${length.toLocaleString("en")} characters)`, tail, "more")];
  };
  const named = (name, index) => (filters[name] ? filters[name].options[Number(index) + 1].text : "");
  const build = (raw) => {
    const [id, name, marks, sent, middle, back, values, lost] = raw;
    const row = make("tr"), f = marks.split(","), link = make("a", name);
    row.id = id;
    link.href = "#" + id;
    const cell = (...inside) => { const td = make("td"); td.append(...inside); row.append(td); };
    cell(link);
    if (services > 1) cell(named("service", f[0]));
    if (parts > 1) cell(named("part", f[1]));
    cell(...words(sent));
    if (trail) cell(...middle.flatMap((text, i) => (i ? [make("br"), ...words(text)] : words(text))));
    cell(...words(back));
    const under = make("span", lost);
    under.className = "under";
    cell(values, ...(lost ? [under] : []));
    return row;
  };

  const facets = Object.keys(filters).filter((name) => "facet" in filters[name].dataset);
  const place = (field) => (field && field.value ? field.selectedIndex - 1 : null);
  const picked = () => ({
    service: place(filters.service),
    part: place(filters.part),
    block: place(filters.block),
    ...Object.fromEntries(facets.map((name) => [name, place(filters[name])])),
    state: filters.state.value || null,
    changed: filters.changed.checked ? "1" : null,
    q: filters.q.value.trim().toLowerCase() || null,
  });
  // A row may hold several values of a facet: two groups, several categories.
  const held = (places, want) => facets.every((name, i) =>
    want[name] === null || places[i].split("-").includes(String(want[name])));
  const order = ["service", "part", "block", "state", "changed"];
  const search = (item) => {
    if (!item.text) {
      const flat = (text) => text[0].map((piece) => piece[0]).join("") + text[1];
      item.text = (item.row ? item.row.textContent
        : [item.raw[1], flat(item.raw[3]), ...item.raw[4].map(flat), flat(item.raw[5]), item.raw[6]].join(" ")).toLowerCase();
    }
    return item.text;
  };
  const match = (item, want) =>
    order.every((name, i) => want[name] === null || item.f[i] === String(want[name])) &&
    held(item.f.slice(order.length), want) &&
    (want.q === null || search(item).includes(want.q));

  const render = () => {
    const want = picked();
    const found = rows.filter((item) => match(item, want));
    body.replaceChildren(...found.slice(0, cap).map((item) => item.row || (item.row = build(item.raw))));
    for (const row of all("tr[data-k]")) row.hidden = !held(row.dataset.k.split(","), want);
    unmask();
    const here = Math.min(cap, found.length).toLocaleString("en");
    const some = found.length < rows.length ? `${found.length.toLocaleString("en")} match · ` : "";
    shown.textContent = `${here} shown · ${some}${total.toLocaleString("en")} in all`;
    more.hidden = found.length <= cap;
    none.hidden = found.length > 0;
    if (!found.length) undo(want);
  };
  const undo = (want) => {
    const active = Object.keys(want).filter((name) => want[name] !== null);
    const helps = active
      .map((name) => [name, rows.filter((item) => match(item, { ...want, [name]: null })).length])
      .filter(([, count]) => count);
    const label = { q: "contains", block: "input", changed: "only changed" };
    none.textContent = "No row matches. " + (helps.length
      ? helps.map(([name, count]) => `Without the filter “${label[name] || name}”: ${count}`).join(". ") + "."
      : "Undo the filters: " + active.map((name) => label[name] || name).join(", ") + ".");
  };
  const read = () => {
    const now = kept();
    as.value = views.includes(now.get("as")) ? now.get("as") : "chooser";
    for (const [name, field] of Object.entries(filters)) {
      if (field.type === "checkbox") field.checked = now.get(name) === "1";
      else field.value = now.get(name) || "";
      if (field.tagName === "SELECT" && field.selectedIndex < 0) field.value = "";
    }
  };
  const seek = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const index = id.includes("=") ? -1 : rows.findIndex((item) => item.id === id);
    if (index < 0) return;
    cap = Math.max(cap, index + 1);
    render();
    rows[index].row.scrollIntoView({ block: "center" });
  };
  for (const [name, field] of Object.entries(filters)) {
    field.addEventListener(field.type === "search" ? "input" : "change", () => {
      keep(name, field.type === "checkbox" ? (field.checked ? "1" : "") : field.value);
      cap = step;
      render();
    });
  }
  more.addEventListener("click", () => {
    const next = cap;
    cap += step;
    render();
    const link = body.rows[next] && one("a", body.rows[next]);
    if (link) link.focus();
  });
  addEventListener("hashchange", () => { if (location.hash.includes("=") || !location.hash) { read(); render(); } seek(); });

  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  };
  const packed = one("#packed");
  read();
  arrange();
  render();
  seek();
  reveal();
  if (packed) unpack(packed.textContent.trim()).then((raws) => {
    rows = raws.map((raw) => ({ id: raw[0], f: raw[2].split(","), raw, row: null, text: "" }));
    render();
    seek();
  }, () => { shown.textContent = "Only the first rows could be opened."; });
})();
