// The panel beside the view: what is selected, why it is as it is, and what could be done about it.

import { button, bytes, change, cycles, empty, facts, h, microseconds, percent, row, table } from "./dom.js";
import { diffOf } from "./history.js";

const LAYOUTS = ["channels_last", "blocked"];

export class Inspector {
  constructor(element, { ask, act, select, enter, live }) {
    Object.assign(this, { element, ask, act, select, enter, live });
    this.shown = 0;
  }

  // what is known already is there when this returns; answers of the session come as they come
  show(selection, context) {
    this.element.scrollTop = 0;
    this.element.classList.toggle("nothing", !selection);
    this.context = context;
    const number = ++this.shown;
    const fresh = () => number === this.shown;
    if (!selection) {
      empty(this.element, h("h2", {}, "Nothing selected"), h("p", { class: "hint" }, "Select a node or an edge in the graph, the tree or a chart. "), this.live ? h("p", { class: "hint" }, "An edge tells why its ends are not one nest, and what it would take. A node tells what could be done there.") : null, h("p", { class: "hint" }, "Press ? for all keys."));
      return;
    }
    if (selection.kind === "edge") this.edge(selection, fresh);
    else if (selection.kind === "group") this.group(selection);
    else this.node(selection, fresh);
  }

  // ---- edges --------------------------------------------------------------------------------------------------------

  async edge({ producer, consumer, line }, fresh) {
    const edges = line?.edges ?? [];
    const edge = edges.find((one) => one.producer === producer && one.consumer === consumer);
    const title = h("h2", {}, producer, " → ", consumer);
    const about = edge ? facts("This tensor", [row(["tensor", edge.tensor]), row(["type", edge.type]), row(["size", bytes(edge.bytes)]), ...Object.entries(edge.traffic).filter(([, count]) => count).map(([name, count]) => row([`from ${name}`, bytes(count)]))]) : null;
    const others = edges.length > 1 ? h("details", {}, h("summary", {}, `${line.count} tensors on this edge`), h("ul", { class: "plain" }, edges.map((one) => h("li", {}, button(`${one.producer} → ${one.consumer} (${bytes(one.bytes)})`, () => this.select({ kind: "edge", producer: one.producer, consumer: one.consumer, line }), { class: "link" }))))) : null;
    const why = h("section", { "aria-label": "Why not fused" }, h("h3", {}, "Why are these not one nest?"), h("p", { class: "hint" }, "…"));
    const result = h("div", { id: "preview" });
    empty(this.element, title, why, result, about, others);
    try {
      const found = await this.ask("why_not", { a: producer, b: consumer, half: this.context.half });
      if (!fresh()) return;
      this.whyNot(why, found, result);
    } catch (error) {
      if (fresh()) empty(why, h("h3", {}, "Why are these not one nest?"), h("p", { class: "refusal" }, error.message));
    }
    if (edge && this.live && fresh()) this.element.insertBefore(this.layouts(edge.tensor, result), result);
  }

  whyNot(section, found, result) {
    const passes = found.enabled_by.join(" ");
    const apart = `keepapart{a=${JSON.stringify(found.producer)} b=${JSON.stringify(found.consumer)}}`;
    if (found.fused) {
      empty(section, h("h3", {}, "These are one nest"), h("p", {}, found.reason), this.live ? this.offer(apart, "Keep them apart", result) : null);
      return;
    }
    empty(
      section,
      h("h3", {}, "Why are these not one nest?"),
      h("p", { id: "why", class: "why" }, h("b", {}, found.rule ? `${found.rule}: ` : ""), found.reason),
      found.needs ? h("p", {}, h("b", {}, "It would take: "), found.needs) : null,
      passes ? [h("p", {}, h("b", {}, "What does it: "), h("code", { class: "pass" }, passes)), found.effect ? h("p", { id: "effect", class: found.effect.worse ? "refusal" : "good" }, `${found.effect.worse ? "✗" : "✓"} ${found.effect.told}`) : null, this.live ? this.offer(passes, "Fuse", result) : null] : h("p", { class: "hint" }, "No pass that Strop has would make one nest of them."),
      found.others.length ? h("details", {}, h("summary", {}, "What the other rules say"), h("ul", { class: "plain" }, found.others.map((one) => h("li", {}, h("b", {}, `${one.rule}: `), one.reason, one.needs ? ` (${one.needs})` : "")))) : null,
    );
  }

  layouts(tensor, result) {
    const choice = h("select", { id: "layout" }, LAYOUTS.map((name) => h("option", { value: name }, name.replace("_", " "))));
    const text = () => `pin{tensor=${JSON.stringify(tensor)} layout=${choice.value}}`;
    return h("section", { "aria-label": "Layout" }, h("h3", {}, "Layout"), h("div", { class: "inline" }, h("label", {}, `${tensor} lies `, choice), button("Preview layout", () => this.preview(text(), result)), button("Set layout", () => this.act("apply", { passes: text() }))));
  }

  // ---- nodes and groups ---------------------------------------------------------------------------------------------

  group({ path }) {
    const inside = this.context.nodes.filter((node) => node.module === path || node.module.startsWith(`${path}.`));
    const sum = (name) => inside.reduce((all, node) => all + (node[name] ?? 0), 0);
    const total = this.context.nodes.reduce((all, node) => all + (node.cycles ?? 0), 0);
    const rows = [row(["nodes", String(inside.length)]), row(["reads", bytes(sum("bytes_read"))]), row(["writes", bytes(sum("bytes_written"))])];
    if (total) rows.push(row(["time, predicted", percent(sum("cycles") / total)]));
    empty(this.element, h("h2", {}, path), facts("This module", rows), this.edges((one) => inside.some((node) => node.name === one)));
  }

  node({ name }, fresh) {
    const node = this.context.nodes.find((one) => one.name === name);
    const title = h("h2", {}, name);
    if (!node) {
      const tensor = h("div", { id: "preview" });
      empty(this.element, title, h("p", { class: "hint" }, "A tensor of the arena."), this.live ? this.layouts(name, tensor) : null, this.live ? this.possibilities(name, tensor) : null, tensor);
      return;
    }
    const rows = [row(["computes", node.what]), row(["type", node.type]), row(["reads", bytes(node.bytes_read)]), row(["writes", bytes(node.bytes_written)])];
    if (node.flop) rows.push(row(["arithmetic", `${(node.flop / 1e6).toFixed(2)} MFLOP`]));
    if (node.module) rows.push(row(["module", node.module]));
    for (const origin of node.origins.slice(0, 6)) rows.push(row(["from", h("code", {}, origin)]));
    const result = h("div", { id: "preview" });
    const cost = h("div", {});
    const ways = h("div", {});
    const nests = node.kind === "operator" ? node.computes : node.kind === "nest" ? [name] : [];
    const code = nests.map((one) => button(`Code of ${one}`, () => this.enter(one), { class: "link" }));
    empty(this.element, title, facts("This node", rows), code.length ? h("p", { class: "inline" }, code) : null, ways, cost, this.edges((one) => one === name), this.live ? this.possibilities(name, result) : null, result);
    if (this.live && node.kind !== "input") this.algorithms(name, ways, result, fresh).catch((error) => empty(ways, h("p", { class: "refusal" }, error.message)));
    if (node.kind === "nest") this.cost(name, cost, fresh).catch((error) => empty(cost, h("p", { class: "refusal" }, error.message)));
  }

  async algorithms(name, element, result, fresh) {
    const found = await this.ask("algorithms", { name, half: this.context.half });
    if (!found.length || !fresh()) return;
    const pickers = found.map(({ node, chosen, others }) => {
      const ways = Object.keys(others);
      const choice = h("select", { "aria-label": `Algorithm of ${node}` }, h("option", { value: "" }, `${chosen} (now)`), ways.map((way) => h("option", { value: way }, way)));
      const preview = button("Preview", () => this.preview(others[choice.value], result), { disabled: true, "aria-label": `Preview: another algorithm of ${node}` });
      const use = button("Use", () => this.act("apply", { passes: others[choice.value] }), { disabled: true, class: "primary", "aria-label": `Use another algorithm of ${node}` });
      choice.addEventListener("change", () => { preview.disabled = use.disabled = !choice.value; });
      return h("div", { class: "inline" }, h("label", {}, `${node} by `, choice), preview, use);
    });
    empty(element, h("section", { id: "algorithms", "aria-label": "Algorithm" }, h("h3", {}, "Algorithm"), pickers));
  }

  async cost(name, element, fresh) {
    const { steps } = await this.ask("prediction", { half: this.context.half });
    const step = steps.find((one) => one.name === name);
    if (!step || !fresh()) return;
    const most = Math.max(1, ...Object.values(step.terms));
    const bars = Object.entries(step.terms).sort(([, a], [, b]) => b - a).map(([term, cycles]) => h("tr", {}, h("th", { scope: "row" }, term), h("td", {}, h("span", { class: `meter${term === step.bound ? " bound" : ""}`, style: { width: `${(cycles / most) * 90}px` } })), h("td", { class: "number" }, Math.round(cycles).toLocaleString("en"))));
    const error = step.error === null ? "" : `, ${microseconds(step.measured_us)} measured (the model is off by ${percent(step.error, 0)})`;
    empty(element, h("h3", {}, "Cost"), h("p", {}, `${microseconds(step.predicted_us)} predicted${error}; held by `, h("b", {}, step.bound), step.spills ? `; ${step.spills} spills` : ""), h("table", {}, h("caption", {}, "Cycles, if each bound were alone"), h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "bound"), h("th", { scope: "col" }, "share"), h("th", { scope: "col", class: "number" }, "cycles"))), h("tbody", {}, bars)));
  }

  edges(inside) {
    const found = this.context.lines.flatMap((line) => line.edges.map((edge) => ({ ...edge, line })));
    const list = (label, some, other) =>
      some.length ? [h("h3", {}, label), h("ul", { class: "plain edges" }, some.slice(0, 30).map((edge) => h("li", {}, button(`${edge[other]} · ${bytes(edge.bytes)}${edge.fused ? " · fused" : ""}`, () => this.select({ kind: "edge", producer: edge.producer, consumer: edge.consumer, line: edge.line }), { class: "link", title: `Edge from ${edge.producer} to ${edge.consumer}` }))))] : null;
    const reads = found.filter((edge) => inside(edge.consumer) && !inside(edge.producer));
    const written = found.filter((edge) => inside(edge.producer) && !inside(edge.consumer));
    return [list("Reads", reads, "producer"), list("Is read by", written, "consumer")];
  }

  // ---- what could be done -------------------------------------------------------------------------------------------

  possibilities(name, result) {
    const body = h("div", {});
    const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter what could be done" });
    let found = null;
    const draw = () => {
      const wanted = filter.value.toLowerCase();
      const fitting = found.filter((one) => one.change.toLowerCase().includes(wanted));
      const allowed = fitting.filter((one) => one.allowed);
      const refused = fitting.filter((one) => !one.allowed);
      const list = (some) => h("ul", { class: "plain" }, some.slice(0, 60).map((one) => h("li", {}, h("code", { class: "pass" }, one.change), one.instead ? h("small", {}, ` instead of ${one.instead}`) : null, one.allowed ? this.offer(one.passes, "", result) : h("p", { class: "refusal" }, one.why))));
      empty(body, allowed.length ? list(allowed) : h("p", { class: "hint" }, "Nothing."), allowed.length > 60 ? h("p", { class: "hint" }, `and ${allowed.length - 60} more: filter them`) : null, refused.length ? h("details", {}, h("summary", {}, `${refused.length} that are refused, and why`), list(refused)) : null);
    };
    filter.addEventListener("input", () => found && draw());
    const details = h("details", { class: "space" }, h("summary", {}, "What could be done here"), filter, body);
    details.addEventListener("toggle", async () => {
      if (!details.open || found) return;
      empty(body, h("p", { class: "hint" }, "…"));
      try {
        found = await this.ask("space", { at: name, levels: [], half: this.context.half });
        draw();
      } catch (error) {
        empty(body, h("p", { class: "refusal" }, error.message));
      }
    });
    return details;
  }

  offer(passes, label, result) {
    const told = label || passes;
    return h("span", { class: "inline offer" }, button("Preview", () => this.preview(passes, result), { "aria-label": `Preview: ${told}` }), button(label || "Apply", () => this.act("apply", { passes }), { "aria-label": label || `Apply: ${told}`, class: "primary" }), button("Everywhere", () => this.act("apply_everywhere", { passes }), { "aria-label": `Apply everywhere: ${told}` }));
  }

  async preview(passes, result) {
    empty(result, h("h3", {}, "Preview"), h("p", { class: "hint" }, "…"));
    try {
      const found = await this.ask("preview", { passes, half: this.context.half });
      const { before, after } = found;
      const rows = [
        row(["bytes moved", bytes(before.bytes), bytes(after.bytes), change(before.bytes, after.bytes, bytes)]),
        row(["cycles", cycles(before.cycles), cycles(after.cycles), change(before.cycles, after.cycles, cycles)]),
      ];
      const lost = found.conversions ?? [];
      empty(
        result,
        h("h3", {}, "Preview"),
        h("p", {}, h("code", { class: "pass" }, passes)),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Preview in numbers" }, table("Before and after", ["", { text: "now", number: true }, { text: "then", number: true }, { text: "gain", number: true }], rows)),
        lost.length ? [h("h4", {}, "Conversions of layouts"), h("ul", { class: "plain" }, lost.map((one) => h("li", {}, `${one.tensor}: ${bytes(one.bytes)}, ${cycles(one.cycles)} cycles`)))] : null,
        h("p", {}, `${found.changed.length} ${found.changed.length === 1 ? "nest changes" : "nests change"}${found.gone.length ? `, ${found.gone.length} gone: ${found.gone.join(", ")}` : ""}.`),
        h("div", { class: "inline" }, button("Apply", () => this.act("apply", { passes }), { class: "primary", "aria-label": "Apply what is previewed" }), button("Everywhere", () => this.act("apply_everywhere", { passes }), { "aria-label": "Apply what is previewed everywhere" })),
        (found.diffs ?? []).slice(0, 12).map((one) => h("details", {}, h("summary", {}, one.name), diffOf(one.lines, `What changes in ${one.name}`))),
      );
      result.querySelector(".primary").focus();
    } catch (error) {
      empty(result, h("h3", {}, "Preview"), h("p", { class: "refusal" }, error.message), error.help ? h("p", { class: "hint" }, error.help) : null);
    }
  }
}
