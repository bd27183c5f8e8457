// Elements, numbers as text, and downloads. Nothing is ever parsed as HTML: all text becomes text nodes.

const SVG = "http://www.w3.org/2000/svg";

function made(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function h(tag, attributes = {}, ...children) {
  return made(document.createElement(tag), attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  return made(document.createElementNS(SVG, tag), attributes, children);
}

export function button(text, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

export function bytes(count) {
  if (count === null || count === undefined) return "–";
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  let amount = count;
  while (Math.abs(amount) >= 1000 && unit < units.length - 1) {
    amount /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? amount : amount.toFixed(Math.abs(amount) < 10 ? 2 : 1)} ${units[unit]}`;
}

export function microseconds(amount) {
  if (amount === null || amount === undefined) return "–";
  if (Math.abs(amount) >= 1e6) return `${(amount / 1e6).toFixed(2)} s`;
  return Math.abs(amount) >= 1000 ? `${(amount / 1000).toFixed(2)} ms` : `${amount.toFixed(1)} µs`;
}

export function cycles(count) {
  if (count === null || count === undefined) return "–";
  const amount = Math.abs(count);
  return amount >= 1e6 ? `${(count / 1e6).toFixed(2)} M` : amount >= 1e3 ? `${(count / 1e3).toFixed(1)} k` : String(Math.round(count));
}

export function percent(share, digits = 1) {
  return share === null || share === undefined ? "–" : `${(share * 100).toFixed(digits)} %`.replace("-", "−");
}

export function signed(text, amount) {
  return amount > 0 ? `+${text}` : text.replace("-", "−");
}

export function change(before, after, format) {
  if (before === null || after === null || before === undefined || after === undefined) return "–";
  const difference = after - before;
  if (!difference) return "no change";
  const share = before ? ` (${signed(percent(difference / before), difference)})` : "";
  return signed(format(difference), difference) + share;
}

// a line of coloured words, as the server divides it
export function words(line) {
  return line.map(([kind, text]) => (kind ? h("span", { class: `w-${kind}` }, text) : text));
}

// cells are numbers where the head of their column says so
export function table(caption, heads, rows) {
  for (const one of rows.flat(Infinity)) heads.forEach((head, i) => one.children[i]?.classList.toggle("number", Boolean(head.number)));
  return h(
    "table",
    {},
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col", class: head.number ? "number" : null }, head.text ?? head)))),
    h("tbody", {}, rows),
  );
}

// names and values, without a head
export function facts(caption, rows) {
  return h("table", { class: "facts" }, h("caption", {}, caption), h("tbody", {}, rows));
}

export function row(cells, attributes = {}) {
  return h(
    "tr",
    attributes,
    cells.map((cell, i) => (i === 0 ? h("th", { scope: "row" }, cell) : h("td", {}, cell))),
  );
}

export function download(name, text, kind) {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

export function empty(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child));
  return element;
}

// how wide a chart may be: letters of a drawing that is scaled down are hard to read
export function room() {
  return Math.max(420, Math.min(1170, document.getElementById("view").clientWidth - 30));
}

export function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// one of a row of things has the focus; arrows move it
export function roving(container, selector, keys) {
  container.addEventListener("keydown", (event) => {
    const step = keys[event.key];
    if (step === undefined) return;
    const all = [...container.querySelectorAll(selector)].filter((one) => !one.disabled);
    const at = all.indexOf(document.activeElement);
    if (at < 0) return;
    event.preventDefault();
    const to = step === "first" ? 0 : step === "last" ? all.length - 1 : (at + step + all.length) % all.length;
    all[to].focus();
  });
}
