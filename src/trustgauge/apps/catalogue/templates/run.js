// Moves the bars of a run as its events come; says so at most every ten seconds.
"use strict";
(() => {
  const main = document.querySelector("main[data-events]");
  if (!main || !window.EventSource) return;
  const state = document.getElementById("state");
  const rows = new Map([...document.querySelectorAll("#parts tr")].map((row) => [row.dataset.part, row]));
  let said = 0;
  const source = new EventSource(main.dataset.events);
  source.onmessage = (message) => {
    const told = JSON.parse(message.data);
    if (told.event !== "progress") return;
    const row = rows.get(told.part);
    if (!row) { location.reload(); return; }
    const bar = row.querySelector("progress");
    if (told.done < bar.value) return;
    bar.value = told.done;
    row.lastElementChild.textContent = `${told.done.toLocaleString("en")} of ${told.total.toLocaleString("en")}`;
    if (Date.now() - said > 10000) {
      said = Date.now();
      let done = 0, total = 0;
      for (const one of document.querySelectorAll("#parts progress")) { done += one.value; total += one.max; }
      state.textContent = `Running: ${done.toLocaleString("en")} of ${total.toLocaleString("en")} answers`;
    }
  };
  source.addEventListener("end", () => { source.close(); location.reload(); });
})();
