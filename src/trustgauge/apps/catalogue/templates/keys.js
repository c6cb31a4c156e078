// A key presses the button that names it, once a page.
"use strict";
(() => {
  let pressed = false;
  document.addEventListener("keydown", (event) => {
    if (pressed || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.matches("input, textarea, select")) return;
    const button = [...document.querySelectorAll("button[data-key]")].find((one) => one.dataset.key === event.key);
    if (!button) return;
    event.preventDefault();
    pressed = true;
    button.click();
  });
})();
