// Where the time goes: a roofline of all nests, a treemap and a flame view. Each drawing has a table of the same steps
// below it, which is what keyboards and screen readers use; the drawings themselves are for the eye and the mouse.

import { button, bytes, empty, h, microseconds, percent, room, row, s, table } from "./dom.js";

const BOUNDS = ["ports", "front end", "latency", "L1", "L2", "L3", "DRAM", "library"];

export function boundClass(bound) {
  const at = BOUNDS.indexOf(bound);
  return `bound-${at < 0 ? BOUNDS.length - 1 : at}`;
}

function timeOf(step, kind) {
  return kind === "measured" ? (step.measured_us ?? 0) : (step.predicted_us ?? 0);
}

export function stepTable(steps, select, caption) {
  const heads = ["step", "computes", { text: "predicted", number: true }, { text: "measured", number: true }, { text: "error", number: true }, "held by", { text: "moves", number: true }];
  const sorted = [...steps].sort((a, b) => (b.measured_us ?? b.predicted_us ?? 0) - (a.measured_us ?? a.predicted_us ?? 0));
  const rows = sorted.map((step) =>
    row([
      button(step.name, () => select({ kind: "node", name: step.name }), { class: "link" }),
      step.what,
      microseconds(step.predicted_us),
      microseconds(step.measured_us),
      step.error === null ? "–" : `${step.error > 0 ? "+" : "−"}${Math.abs(step.error * 100).toFixed(0)} %`,
      step.bound,
      bytes(step.bytes),
    ]),
  );
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table(caption, heads, rows));
}

function boundLegend(steps) {
  const used = BOUNDS.filter((name) => steps.some((step) => (step.bound || "library") === name));
  return h("div", { class: "legend inline", role: "group", "aria-label": "What holds a step" }, "held by ", used.map((name) => h("span", { class: "key" }, h("span", { class: `swatch ${boundClass(name)}`, "aria-hidden": "true" }), name)));
}

// ---- roofline -------------------------------------------------------------------------------------------------------

export function roofline(prediction, peak, select) {
  const steps = prediction.steps.filter((step) => step.flop && step.bytes);
  const [wide, high, left, bottom, right] = [room(), 440, 64, 40, 90];
  const measured = steps.some((step) => step.measured_us);
  const speed = (step) => step.flop / ((step.measured_us || step.predicted_us) * 1000);
  const points = steps.filter((step) => step.measured_us || step.predicted_us).map((step) => ({ step, x: step.flop / step.bytes, y: speed(step) }));
  const rates = Object.entries(peak.gigabytes);
  const lowX = Math.log10(Math.max(0.01, Math.min(0.25, ...points.map((one) => one.x))) / 1.5);
  const highX = Math.log10(Math.max(256, ...points.map((one) => one.x)) * 1.5);
  const lowY = Math.log10(Math.max(0.01, Math.min(1, ...points.map((one) => one.y))) / 1.5);
  const highY = Math.log10(peak.gflops * 1.8);
  const x = (value) => left + ((Math.log10(value) - lowX) / (highX - lowX)) * (wide - left - right);
  const y = (value) => high - bottom - ((Math.log10(value) - lowY) / (highY - lowY)) * (high - bottom - 16);
  const svg = s("svg", { viewBox: `0 0 ${wide} ${high}`, class: "chart", "aria-hidden": "true" });
  for (let power = Math.ceil(lowX); power <= highX; power++) {
    svg.append(s("line", { x1: x(10 ** power), x2: x(10 ** power), y1: 16, y2: high - bottom, class: "grid" }), s("text", { x: x(10 ** power), y: high - bottom + 16, class: "axis middle" }, String(10 ** power)));
  }
  for (let power = Math.ceil(lowY); power <= highY; power++) {
    svg.append(s("line", { x1: left, x2: wide - right, y1: y(10 ** power), y2: y(10 ** power), class: "grid" }), s("text", { x: left - 6, y: y(10 ** power) + 4, class: "axis end" }, String(10 ** power)));
  }
  svg.append(s("text", { x: (left + wide - right) / 2, y: high - 4, class: "axis middle" }, "FLOP per byte moved"), s("text", { x: 14, y: high / 2, class: "axis middle", transform: `rotate(-90 14 ${high / 2})` }, "GFLOP/s"));
  for (const [name, rate] of rates) {
    const ridge = peak.gflops / rate;
    const from = Math.max(10 ** lowX, 10 ** lowY / rate);
    svg.append(s("path", { d: `M${x(from)} ${y(from * rate)} L${x(ridge)} ${y(peak.gflops)}`, class: `roof memory-${name}` }));
    // along its roof: those of L1 and L2 are too near for labels that lie
    const [fromX, fromY] = [x(from), y(from * rate)];
    const slope = (Math.atan2(y(peak.gflops) - fromY, x(ridge) - fromX) * 180) / Math.PI;
    svg.append(s("text", { x: fromX + 8, y: fromY - 5, class: "axis", transform: `rotate(${slope.toFixed(1)} ${fromX} ${fromY})` }, `${name} ${rate.toFixed(0)} GB/s`));
  }
  svg.append(s("path", { d: `M${x(peak.gflops / rates[0][1])} ${y(peak.gflops)} H${wide - right}`, class: "roof" }), s("text", { x: wide - right + 6, y: y(peak.gflops) + 4, class: "axis" }, `${peak.gflops.toFixed(0)} GFLOP/s`));
  const most = Math.max(...points.map(({ step }) => step.measured_us || step.predicted_us), 1e-9);
  for (const { step, x: intensity, y: reached } of points) {
    const size = 4 + 12 * Math.sqrt((step.measured_us || step.predicted_us) / most);
    const dot = s("circle", { cx: x(intensity), cy: y(reached), r: size, class: `dot ${boundClass(step.bound)}` }, s("title", {}, `${step.name}: ${intensity.toFixed(2)} FLOP/byte, ${reached.toFixed(1)} GFLOP/s, held by ${step.bound}`));
    dot.addEventListener("click", () => select({ kind: "node", name: step.name }));
    svg.append(dot);
  }
  named(svg, points.map(({ step, x: intensity, y: reached }) => ({ name: step.name, time: step.measured_us || step.predicted_us, x: x(intensity), y: y(reached) })), wide, most);
  const said = `${points.length} nests that multiply and add, by ${measured ? "measured" : "predicted"} time; a dot is as large as its time. Roofs are of one core.`;
  return h("div", { class: "chart-view" }, h("h2", {}, "Roofline"), h("p", { class: "hint" }, said), svg, boundLegend(steps), stepTable(prediction.steps, select, "All steps, the slowest first"));
}

// the names of the slowest, beside their dots, where there is room for them
function named(svg, dots, wide, most) {
  const taken = [];
  for (const { name, time, x, y } of dots.sort((a, b) => b.time - a.time).slice(0, 12)) {
    const size = 4 + 12 * Math.sqrt(time / most);
    const long = 6.8 * name.length;
    const left = x + size + 4 + long < wide ? x + size + 4 : x - size - 4 - long;
    const place = [left, y - 8, left + long, y + 6];
    if (left < 60 || taken.some((one) => one[0] < place[2] && place[0] < one[2] && one[1] < place[3] && place[1] < one[3])) continue;
    taken.push(place);
    svg.append(s("text", { x: left, y: y + 4, class: "dot-name" }, name));
  }
}

// ---- treemap and flame view -----------------------------------------------------------------------------------------

export class TimeView {
  constructor({ select, measure }) {
    this.select = select;
    this.measure = measure;
    this.kind = null;
    this.element = h("div", { class: "chart-view" });
  }

  show(prediction, live) {
    const known = prediction.measured_us !== null;
    const kind = known ? (this.kind ?? "measured") : "predicted";
    const choose = (name) =>
      h("label", {}, h("input", { type: "radio", name: "time-kind", value: name, checked: kind === name, disabled: name === "measured" && !known, onchange: () => { this.kind = name; this.show(prediction, live); } }), ` ${name}`);
    const total = kind === "measured" ? prediction.measured_us : prediction.predicted_us;
    const off = prediction.measured_us ? prediction.predicted_us / prediction.measured_us - 1 : 0;
    const error = prediction.median_error === null ? "" : ` The model predicts ${microseconds(prediction.predicted_us)} (${off > 0 ? "+" : "−"}${percent(Math.abs(off), 0)}) in all; of single steps, small ones among them, it is off by ${percent(prediction.median_error, 0)} in the median.`;
    empty(
      this.element,
      h("h2", {}, "Time"),
      h("fieldset", { class: "inline" }, h("legend", {}, "Time that is"), choose("predicted"), choose("measured"), !known && live ? button("Measure now", this.measure) : null),
      h("p", { class: "hint" }, `${microseconds(total)} ${kind}; areas are shares of it.${error}${known ? "" : " Predicted from the machine code of each nest; the line at the top has the quicker estimate that previews use."}`),
      h("h3", {}, "Treemap"),
      treemap(prediction.steps, kind, this.select),
      boundLegend(prediction.steps),
      h("h3", {}, "Flame view by module, in the order of the program"),
      flame(prediction.steps, kind, this.select),
      stepTable(prediction.steps, this.select, "All steps, the slowest first"),
    );
  }
}

function treemap(steps, kind, select) {
  const [wide, high] = [room(), Math.min(360, 0.36 * room())];
  const svg = s("svg", { viewBox: `0 0 ${wide} ${high}`, class: "chart", "aria-hidden": "true" });
  const values = steps.map((step) => ({ step, value: timeOf(step, kind) })).filter((one) => one.value > 0);
  values.sort((a, b) => b.value - a.value);
  for (const { step, value, x, y, width, height } of squarified(values, wide, high)) {
    const box = s("g", { class: "cell" }, s("rect", { x, y, width, height, class: boundClass(step.bound || "library") }), s("title", {}, `${step.name}: ${microseconds(value)}, ${step.what}, held by ${step.bound}`));
    if (width > 60 && height > 16) box.append(s("text", { x: x + 5, y: y + 14, class: "cell-text" }, fitted(step.name, width - 8)));
    if (width > 60 && height > 32) box.append(s("text", { x: x + 5, y: y + 28, class: "cell-text" }, microseconds(value)));
    box.addEventListener("click", () => select({ kind: "node", name: step.name }));
    svg.append(box);
  }
  return svg;
}

// rows of rectangles that are as square as they can be (Bruls, Huizing and van Wijk, 2000)
export function squarified(values, wide, high) {
  const total = values.reduce((sum, one) => sum + one.value, 0) || 1;
  const areas = values.map((one) => ({ ...one, area: (one.value / total) * wide * high }));
  const found = [];
  let [x, y, width, height] = [0, 0, wide, high];
  let line = [];
  const worst = (some, side) => {
    const sum = some.reduce((all, one) => all + one.area, 0);
    return Math.max(...some.map((one) => Math.max((side * side * one.area) / (sum * sum), (sum * sum) / (side * side * one.area))));
  };
  const place = () => {
    const sum = line.reduce((all, one) => all + one.area, 0);
    const side = Math.min(width, height);
    const deep = sum / side;
    let at = 0;
    for (const one of line) {
      const long = one.area / deep;
      found.push(width >= height ? { ...one, x, y: y + at, width: deep, height: long } : { ...one, x: x + at, y, width: long, height: deep });
      at += long;
    }
    if (width >= height) [x, width] = [x + deep, width - deep];
    else [y, height] = [y + deep, height - deep];
    line = [];
  };
  for (const one of areas) {
    const side = Math.min(width, height);
    if (line.length && worst([...line, one], side) > worst(line, side)) place();
    line.push(one);
  }
  if (line.length) place();
  return found;
}

function flame(steps, kind, select) {
  const spans = [];
  let at = 0;
  let depth = 1;
  for (const step of steps) {
    const value = timeOf(step, kind);
    if (value <= 0) continue;
    const parts = step.module ? step.module.split(".") : [];
    parts.forEach((part, i) => {
      const path = parts.slice(0, i + 1).join(".");
      const before = spans.findLast((one) => one.depth === i);
      const joins = before && before.path === path && Math.abs(before.from + before.value - at) < 1e-9;
      if (joins) before.value += value;
      else spans.push({ depth: i, path, label: part, from: at, value, step: null });
    });
    spans.push({ depth: parts.length, path: step.name, label: step.name, from: at, value, step });
    depth = Math.max(depth, parts.length + 1);
    at += value;
  }
  const [wide, high] = [room(), 22 * depth + 4];
  const svg = s("svg", { viewBox: `0 0 ${wide} ${high}`, class: "chart", "aria-hidden": "true" });
  for (const one of spans) {
    const [x, width] = [(one.from / at) * wide, (one.value / at) * wide];
    if (width < 0.3) continue;
    const box = s("g", { class: "cell" }, s("rect", { x, y: one.depth * 22, width: Math.max(width - 0.5, 0.3), height: 21, class: one.step ? boundClass(one.step.bound || "library") : "module" }), s("title", {}, `${one.path}: ${microseconds(one.value)}`));
    if (width > 40) box.append(s("text", { x: x + 4, y: one.depth * 22 + 15, class: one.step ? "cell-text" : "module-text" }, fitted(one.label, width - 6)));
    box.addEventListener("click", () => select(one.step ? { kind: "node", name: one.step.name } : { kind: "group", path: one.path }));
    svg.append(box);
  }
  return svg;
}

function fitted(text, width) {
  const letters = Math.floor(width / 6.6);
  return text.length <= letters ? text : `${text.slice(0, Math.max(letters - 1, 1))}…`;
}

// ---- memory over time -----------------------------------------------------------------------------------------------

export function memoryView(memory, select) {
  const [wide, high, left, top] = [room(), 420, 70, 90];
  const steps = Math.max(memory.steps.length, 1);
  const whole = Math.max(memory.arena_bytes, 1);
  const x = (step) => left + (step / steps) * (wide - left - 8);
  const y = (offset) => high - 24 - (offset / whole) * (high - 24 - top);
  const svg = s("svg", { viewBox: `0 0 ${wide} ${high}`, class: "chart", "aria-hidden": "true" });
  const most = Math.max(1, ...memory.live);
  const area = memory.live.map((live, i) => `L${x(i)} ${top - 12 - (live / most) * (top - 30)} L${x(i + 1)} ${top - 12 - (live / most) * (top - 30)}`).join(" ");
  svg.append(s("path", { d: `M${x(0)} ${top - 12} ${area} L${x(steps)} ${top - 12} Z`, class: "live-area" }), s("text", { x: left, y: 12, class: "axis" }, `alive at a step, at most ${bytes(most)}`), s("text", { x: left - 6, y: y(whole) + 8, class: "axis end" }, bytes(whole)), s("text", { x: left - 6, y: y(0), class: "axis end" }, "0"), s("text", { x: left, y: high - 6, class: "axis" }, `step 1 … ${steps}`));
  memory.tensors.forEach((one, i) => {
    const [from, to] = [x(one.first), x(one.last + 1)];
    const [upper, lower] = [y(one.offset + one.bytes), y(one.offset)];
    const box = s("g", { class: "cell" }, s("rect", { x: from, y: upper, width: Math.max(to - from - 0.5, 0.5), height: Math.max(lower - upper - 0.5, 0.5), class: `tensor-${i % 4}` }), s("title", {}, `${one.tensor}: ${one.type}, ${bytes(one.bytes)} at ${one.offset}, steps ${one.first + 1} to ${one.last + 1}`));
    if (to - from > 70 && lower - upper > 13) box.append(s("text", { x: from + 4, y: upper + 12, class: "cell-text" }, fitted(one.tensor, to - from - 6)));
    box.addEventListener("click", () => select({ kind: "tensor", name: one.tensor }));
    svg.append(box);
  });
  const rows = [...memory.tensors].sort((a, b) => b.bytes - a.bytes).map((one) => row([button(one.tensor, () => select({ kind: "tensor", name: one.tensor }), { class: "link" }), one.type, bytes(one.bytes), String(one.offset), `${one.first + 1} – ${one.last + 1}`]));
  const said = `The arena takes ${bytes(memory.arena_bytes)}; without sharing it would take ${bytes(memory.unshared_bytes)}. Packed parameters take ${bytes(memory.packed_bytes)}.`;
  const list = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tensors in the arena" }, table("Tensors in the arena, the largest first", ["tensor", "type", { text: "size", number: true }, { text: "offset", number: true }, "steps"], rows));
  return h("div", { class: "chart-view" }, h("h2", {}, "Memory over time"), h("p", { class: "hint" }, said), svg, list);
}
