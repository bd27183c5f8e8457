// What was done by hand and what each step brought; two branches side by side; what a training step stores.

import { button, bytes, change, cycles, empty, h, microseconds, row, table, words } from "./dom.js";

export function diffOf(lines, label) {
  const shown = lines.map((line) => {
    const start = line[0]?.[1] ?? "";
    const mark = start.startsWith("---") || start.startsWith("+++") ? "@" : start[0];
    return h("div", { class: mark === "+" ? "added" : mark === "-" ? "removed" : mark === "@" ? "hunk" : "" }, line.length ? words(line) : " ");
  });
  return h("pre", { class: "diff", tabindex: "0", "aria-label": label }, shown);
}

export function checkText(check) {
  if (!check) return "not checked";
  return `${check.ok ? "✓" : "✗"} ${check.told}`;
}

export function historyView(steps, { live, ask, act, half }) {
  const below = h("div", { class: "below" });
  const rows = steps.map((step, i) => {
    const before = steps[i - 1];
    const text = step.passes.join(" ") || "as the planners left it";
    const buttons = live && i > 0 ? [button("Take out", () => act("replace", { index: step.index - 1, passes: "" }), { "aria-label": `Take out step ${i}` })] : [];
    const diff = i > 0 ? button("Diff", async () => showDiff(below, step, ask, half), { "aria-label": `Diff of step ${i}` }) : null;
    const gained = (name, format) => h("div", { class: "number" }, format(step[name]), h("small", {}, before ? change(before[name], step[name], format) : " "));
    return row([
      String(step.index),
      i ? h("code", { class: "pass" }, text) : h("span", { class: "hint" }, text),
      gained("bytes", bytes),
      gained("predicted_us", microseconds),
      gained("measured_us", microseconds),
      step.check ? h("span", { class: step.check.ok ? "good" : "refusal", title: step.check.told }, step.check.ok ? "✓ agree with eager" : step.check.told) : "not checked",
      h("span", { class: "inline" }, diff, buttons),
    ]);
  });
  const heads = ["step", "passes", { text: "moves", number: true }, { text: "predicted", number: true }, { text: "measured", number: true }, "numbers", "actions"];
  const list = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "History" }, table("What was done by hand, and what each step brought", heads, rows));
  const hint = steps.length === 1 ? h("p", { class: "hint" }, "Nothing was done by hand yet. Select an edge or a node in the graph: the panel beside it lists what could be done there.") : null;
  return h("div", { class: "chart-view" }, h("h2", {}, "History"), hint, list, below);
}

async function showDiff(below, step, ask, half) {
  empty(below, h("p", { class: "hint" }, "…"));
  try {
    const found = await ask("step_diff", { index: step.index - 1, half });
    const parts = found.map((one) => [h("h3", {}, one.name), diffOf(one.lines, `What changed in ${one.name}`)]);
    empty(below, h("h3", {}, `What step ${step.index} changed`), parts.length ? parts : h("p", { class: "hint" }, "No nest has another text."));
  } catch (error) {
    empty(below, h("p", { class: "refusal" }, error.message));
  }
}

export class CompareView {
  constructor({ ask, act }) {
    this.ask = ask;
    this.act = act;
    this.element = h("div", { class: "chart-view" });
  }

  async show(branches, live, half) {
    const names = branches.map((one) => one.name);
    const title = h("h2", {}, "Compare branches");
    if (names.length < 2) {
      empty(this.element, title, h("p", { class: "hint" }, "There is one branch. Start another, change something on it, and both are compared here in bytes, microseconds and code."), live ? button("Branch from here", () => this.act("ask-branch")) : null);
      return;
    }
    const [a, b] = this.pair && this.pair.every((name) => names.includes(name)) ? this.pair : [names[0], names.find((name) => branches.find((one) => one.name === name).current && name !== names[0]) ?? names[1]];
    const choose = (label, chosen, at) => {
      const list = h("select", { onchange: () => { this.pair = [a, b]; this.pair[at] = list.value; this.show(branches, live, half); } }, names.map((name) => h("option", { value: name, selected: name === chosen }, name)));
      return h("label", {}, `${label} `, list);
    };
    const body = h("div", {}, h("p", { class: "hint" }, "…"));
    empty(this.element, title, h("div", { class: "inline" }, choose("Left", a, 0), choose("Right", b, 1)), body);
    try {
      const found = await this.ask("compare", { a, b, half });
      empty(body, this.numbers(found), this.nests(found, a, b, half));
    } catch (error) {
      empty(body, h("p", { class: "refusal" }, error.message));
    }
  }

  numbers({ a, b, told }) {
    const line = (label, name, format) => row([label, format(a[name]), format(b[name]), change(a[name], b[name], format)], { class: "numbers" });
    const code = (digest) => h("code", {}, digest.slice(0, 12));
    const heads = ["", { text: a.branch, number: true }, { text: b.branch, number: true }, { text: "difference", number: true }];
    const rows = [line("bytes moved", "bytes", bytes), line("predicted", "predicted_us", microseconds), line("measured", "measured_us", microseconds), line("arena", "arena_bytes", bytes), row(["object code", code(a.digest), code(b.digest), a.digest === b.digest ? "the same" : "another"], { class: "numbers" })];
    return [h("p", {}, told), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Numbers of both branches" }, table("Both branches in numbers", heads, rows))];
  }

  nests({ changed }, a, b, half) {
    if (!changed.length) return h("p", { class: "hint" }, "All nests have the same text.");
    return changed.map((one) => {
      const assembly = h("div", { class: "panes two" });
      const show = button("Assembly side by side", async () => {
        empty(assembly, "…");
        try {
          const { sides } = await this.ask("compare_assembly", { a, b, nest: one.name, half });
          empty(assembly, sides.map((lines, i) => h("section", { class: "pane", "aria-label": [a, b][i] }, h("h4", {}, [a, b][i]), h("pre", { tabindex: "0", "aria-label": `Assembly of ${one.name} in ${[a, b][i]}` }, lines.map((line) => h("div", {}, line.length ? words(line) : " "))))));
        } catch (error) {
          empty(assembly, h("p", { class: "refusal" }, error.message));
        }
      }, { "aria-label": `Assembly side by side: ${one.name}` });
      return h("section", { "aria-label": one.name }, h("h3", {}, one.name), diffOf(one.lines, `What is different in ${one.name}`), show, assembly);
    });
  }
}

export function trainingView(stored, overview, { live, act, half }) {
  const title = h("h2", {}, "Training step");
  if (!overview.halves.length) {
    return h("div", { class: "chart-view" }, title, h("p", { class: "hint" }, "This session holds a forward program only. `strop studio MODEL --training` opens a whole training step: forward, backward, and what is stored between them."));
  }
  const kept = stored.filter((one) => one.stored);
  const total = kept.reduce((sum, one) => sum + one.bytes, 0);
  const rows = stored.map((one) =>
    row([
      one.name,
      one.type,
      bytes(one.bytes),
      h("span", { class: one.stored ? "chip stored" : "chip recomputed" }, one.stored ? "stored" : "recomputed"),
      cycles(one.keeping_cycles),
      cycles(one.computing_cycles),
      live && one.pass_to_change ? button(one.stored ? "Recompute" : "Store", () => act("partition", { passes: one.pass_to_change }), { "aria-label": `${one.stored ? "Recompute" : "Store"} ${one.name}` }) : "",
    ]),
  );
  const heads = ["value", "type", { text: "size", number: true }, "is", { text: "cycles to keep", number: true }, { text: "to compute", number: true }, "action"];
  const shown = h("div", { class: "inline" }, overview.halves.map((name) => button(`Graph of ${name}`, () => half(name))));
  const said = `Backward needs ${stored.length} values of forward: ${kept.length} are stored (${bytes(total)}), ${stored.length - kept.length} are computed again.`;
  return h("div", { class: "chart-view" }, title, h("p", {}, said), shown, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Values for backward" }, table("Values of forward that backward needs", heads, rows)));
}
