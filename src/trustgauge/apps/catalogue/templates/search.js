// Filters the list of a frozen catalogue in place; a served one filters on the server, without this.
"use strict";
(async () => {
  const form = document.querySelector("form[data-index]");
  const found = document.querySelector(".found b");
  if (!form || !found) return;
  const known = new Map();
  for (const one of await (await fetch(form.dataset.index)).json()) {
    const words = [one.id, one.service, one.name, one.kind, one.method, one.dimension, one.assessor, one.outcome, one.headline];
    known.set(one.id, { ...one, words: words.join(" ").toLowerCase() });
  }
  const states = (one, today) => [
    one.state,
    ...(one.withdrawn ? ["withdrawn"] : one.expires < today ? ["expired"] : one.state === "rated" ? ["in force"] : []),
    ...(one.testing_forbidden ? ["testing forbidden"] : []),
  ];
  const apply = () => {
    const asked = Object.fromEntries(new FormData(form));
    const words = (asked.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const today = new Date().toISOString().slice(0, 10);
    const since = asked.age ? new Date(Date.now() - 864e5 * Number(asked.age)).toISOString().slice(0, 10) : "";
    const fits = (one) =>
      words.every((word) => one.words.includes(word)) &&
      ["task", "method", "dimension", "rule", "assessor"].every((name) => !asked[name] || one[name] === asked[name]) &&
      (!asked.level || one.level === asked.level) &&
      (!asked.language || one.languages.includes(asked.language)) &&
      (!asked.certainty || one.certainty >= Number(asked.certainty) / 100) &&
      one.tested >= since &&
      (!asked.state || states(one, today).includes(asked.state));
    let count = 0;
    for (const row of document.querySelectorAll("#ratings tbody tr")) {
      let shown = 0;
      for (const one of row.querySelectorAll(".one")) {
        const id = one.querySelector("a").getAttribute("href").split("/").at(-2);
        one.hidden = !(known.has(id) && fits(known.get(id)));
        shown += one.hidden ? 0 : 1;
      }
      row.hidden = !shown;
      count += shown;
    }
    found.textContent = String(count);
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
  form.addEventListener("input", apply);
})();
