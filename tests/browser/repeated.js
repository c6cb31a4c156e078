// Marks every row and list item that is built and styled like one before it at the same place of the page.
(() => {
  const look = (one) => `${one.tagName}.${one.className}[${one.getAttribute("style") ?? ""}]`;
  const says = (one) => [...one.childNodes].some((each) => each.nodeType === 3 && each.data.trim());
  const built = (one) => `${look(one)}${one.hidden}${says(one)}(${[...one.children].map(built)})`;
  const place = (one) => (one ? `${place(one.parentElement)}/${look(one)}` : "");
  document.querySelectorAll("[data-repeated]").forEach((one) => one.removeAttribute("data-repeated"));
  const seen = new Set();
  for (const one of document.querySelectorAll("tr, li")) {
    if (one.parentElement.closest("[data-repeated]")) continue;
    const key = `${place(one.parentElement)}>${built(one)}`;
    one.toggleAttribute("data-repeated", seen.has(key));
    seen.add(key);
  }
})();
