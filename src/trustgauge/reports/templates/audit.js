"use strict";
(() => {
  const one = id => document.getElementById(id);
  const token = document.querySelector("meta[name=audit-token]").content;
  let state = null, waiting = false;

  // The next answer is shown only when the label of this one is on disk.
  async function send(path, body) {
    if (waiting) return;
    waiting = true;
    try {
      const reply = await fetch(path, {
        method: "POST",
        headers: {"Content-Type": "application/json", "X-Audit-Token": token},
        body: JSON.stringify(body || {}),
      });
      const told = await reply.json();
      if (!reply.ok) throw new Error(told.error);
      state = told;
      show(path);
      return true;
    } catch (error) {
      one("status").textContent = "Not saved: " + error.message + ". Press the key again.";
      return false;
    } finally {
      waiting = false;
    }
  }

  function show(path) {
    const item = state.item;
    one("done").textContent = state.done + " of " + state.of;
    one("bar").max = Math.max(1, state.of);
    one("bar").value = state.done;
    one("turn").hidden = !item;
    one("finished").hidden = !!item;
    const list = one("choices");
    list.replaceChildren();
    if (item) {
      one("question").textContent = item.question;
      one("answer").textContent = item.answer;
      item.choices.forEach((choice, place) => {
        const row = document.createElement("li"), button = document.createElement("button");
        const key = document.createElement("kbd"), words = document.createElement("span");
        key.textContent = String(place + 1);
        words.textContent = choice.words;
        button.type = "button";
        button.append(key, words);
        button.addEventListener("click", () => label(place));
        row.append(button);
        list.append(row);
      });
    }
    const said = path === "/label" ? "Saved. " : path === "/undo" ? (state.last ? "Taken back. " : "Nothing to take back. ") : "";
    one("status").textContent = said + (item ? "" : "All are labelled.");
  }

  function label(place) {
    const item = state && state.item;
    if (item && item.choices[place]) send("/label", {key: item.key, label: item.choices[place].label});
  }

  function end() {
    send("/end").then(saved => {
      if (saved) one("status").textContent = "Ended. The terminal shows the rating; this page can be closed.";
    });
  }

  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (/^[1-9]$/.test(event.key)) label(Number(event.key) - 1);
    else if (event.key === "u" || event.key === "Backspace") send("/undo");
    else if (event.key === "q") end();
    else return;
    event.preventDefault();
  });
  one("undo").addEventListener("click", () => send("/undo"));
  one("end").addEventListener("click", end);
  send("/state");
})();
