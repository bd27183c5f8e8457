// A nest as text, between the Python that it came from and the machine code that it became, linked line to line.

import { button, empty, h, words } from "./dom.js";

export class CodeView {
  constructor({ ask, select }) {
    this.ask = ask;
    this.select = select;
    this.element = h("div", { class: "code" });
  }

  async show(nests, name, half, live) {
    this.half = half;
    if (!nests.length) {
      empty(this.element, h("p", { class: "hint" }, "This program has no nests."));
      return;
    }
    const chosen = nests.includes(name) ? name : nests[0];
    const choice = h("select", { id: "nest-choice", onchange: () => this.select({ kind: "node", name: choice.value }) }, nests.map((one) => h("option", { value: one, selected: one === chosen }, one)));
    const head = h("div", { class: "code-head" }, h("label", {}, "Nest ", choice), h("span", { class: "hint" }, "Click a line or use the arrow keys: what belongs to it lights up."));
    const body = h("div", { class: "panes" });
    empty(this.element, head, body);
    let found;
    try {
      found = await this.ask("nest", { name: chosen, half });
    } catch (error) {
      empty(body, h("p", { class: "refusal" }, error.message));
      return;
    }
    if (choice.value !== chosen || !this.element.contains(body)) return;
    const python = found.sources.flatMap((file) => [{ words: [["c", `# ${file.name}`]], title: true }, ...file.lines.map((line) => ({ ...line, file: file.file }))]);
    this.panes = [
      this.pane("Python", python.map((line) => ({ words: line.words, number: line.number, keys: found.statements.flatMap((one, i) => (one.lines.some(([file, number]) => file === line.file && number === line.number) ? [i] : [])) }))),
      this.pane("Nest", found.text.map((line) => ({ words: line.words, keys: line.statement === null ? [] : [line.statement] }))),
      this.pane("Assembly", found.assembly.flatMap((line) => [...(line.label ? [{ words: [["l", `${line.label}:`]], keys: [] }] : []), { words: line.words, keys: line.statement === null ? [] : [line.statement], note: ports(line.ports) }])),
    ];
    empty(body, this.panes.map((one) => one.element));
    head.append(h("span", { class: "chip" }, `${(found.mapped * 100).toFixed(1)} % of ${found.assembly.length} instructions linked`));
    if (!python.length) this.panes[0].list.replaceWith(h("p", { class: "hint" }, "The source of this model is not at hand: an ONNX file, or code that was made at run time."));
    head.append(button("Why this schedule?", () => this.runnersUp(chosen), {}));
  }

  pane(title, lines) {
    const id = `lines-${title.toLowerCase()}`;
    const list = h("div", { class: "lines", role: "listbox", tabindex: "0", "aria-label": title, id });
    const rows = lines.map((line, i) => {
      const row = h("div", { role: "option", "aria-selected": "false", id: `${id}-${i}`, class: line.keys.length ? "line linked" : "line" }, line.number ? h("span", { class: "number" }, String(line.number)) : null, h("code", {}, line.words.length ? words(line.words) : " "), line.note ? h("span", { class: "note" }, line.note) : null);
      row.addEventListener("click", () => this.light(pane, i));
      return row;
    });
    list.append(...rows);
    const pane = { title, list, rows, lines, element: h("section", { class: "pane", "aria-label": title }, h("h2", {}, title), list) };
    list.addEventListener("keydown", (event) => this.key(event, pane));
    return pane;
  }

  key(event, pane) {
    const at = pane.rows.findIndex((row) => row.classList.contains("active"));
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[event.key];
    let to = null;
    if (step) to = Math.min(pane.rows.length - 1, Math.max(0, at + step));
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = pane.rows.length - 1;
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    this.light(pane, to);
  }

  light(pane, at) {
    const keys = new Set(pane.lines[at].keys);
    for (const other of this.panes) {
      let first = null;
      other.rows.forEach((row, i) => {
        const on = other.lines[i].keys.some((key) => keys.has(key));
        row.classList.toggle("lit", on);
        row.classList.toggle("active", other === pane && i === at);
        row.setAttribute("aria-selected", String(on));
        if (on && !first) first = row;
      });
      const target = other === pane ? pane.rows[at] : first;
      if (target) target.scrollIntoView({ block: other === pane ? "nearest" : "center" });
      if (other === pane) pane.list.setAttribute("aria-activedescendant", pane.rows[at].id);
    }
  }

  async runnersUp(name) {
    const old = this.element.querySelector(".runners");
    if (old) {
      old.remove();
      return;
    }
    const text = h("pre", { tabindex: "0", "aria-label": "Cost terms and runners-up" }, "…");
    this.element.append(h("section", { class: "runners", "aria-label": "Why this schedule" }, h("h2", {}, "Cost terms, the bound that holds it, and the runners-up"), text));
    try {
      text.textContent = (await this.ask("runners_up", { name, half: this.half })).text;
    } catch (error) {
      text.textContent = error.message;
    }
  }
}

function ports(pressure) {
  return Object.entries(pressure)
    .filter(([, cycles]) => cycles)
    .map(([name, cycles]) => `${name} ${Number(cycles.toFixed(2))}`)
    .join(" ");
}
