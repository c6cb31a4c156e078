// Contrast and size of every text inside SVG, which axe does not see: a list of what is too weak or too small.
(() => {
  const number = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const over = (top, below) => {
    const alpha = top[3] === undefined ? 1 : top[3];
    return [0, 1, 2].map((i) => top[i] * alpha + below[i] * (1 - alpha));
  };
  const bright = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [high, low] = [bright(a), bright(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.push(number(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => (top.length ? over(top, below) : below), [255, 255, 255]);
  };
  const covers = (shape, x, y) => {
    if (!shape.isPointInFill) return false;
    const matrix = shape.getScreenCTM();
    return matrix !== null && shape.isPointInFill(new DOMPoint(x, y).matrixTransform(matrix.inverse()));
  };
  const paint = (shape) => {
    const style = getComputedStyle(shape);
    if (style.fill === "none") return null;
    const colour = number(style.fill);
    return [...colour.slice(0, 3), (colour[3] === undefined ? 1 : colour[3]) * Number(style.fillOpacity)];
  };
  const weak = [];
  let seen = 0;
  for (const svg of document.querySelectorAll("svg")) {
    const drawn = [...svg.querySelectorAll("rect,path,circle,text")];
    for (const text of drawn.filter((one) => one.tagName === "text")) {
      const box = text.getBoundingClientRect();
      if (!box.width) continue;
      seen += 1;
      const below = drawn.slice(0, drawn.indexOf(text)).filter((one) => one.tagName !== "text");
      for (const x of [box.left + 2, box.left + box.width / 2, box.right - 2]) {
        const y = box.top + box.height / 2;
        const under = below.filter((one) => covers(one, x, y)).map(paint).filter(Boolean);
        const back = under.reduce((base, top) => over(top, base), ground(svg.parentElement));
        const found = ratio(over(paint(text), back), back);
        if (found < 4.5) weak.push(`${text.textContent}: contrast ${found.toFixed(2)}`);
      }
      const size = parseFloat(getComputedStyle(text).fontSize) * (svg.getBoundingClientRect().width / svg.viewBox.baseVal.width || 1);
      if (size < 10.99) weak.push(`${text.textContent}: ${size.toFixed(1)} px`);
    }
  }
  return { seen, weak };
})()
