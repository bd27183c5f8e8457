// A program as boxes and edges on a canvas. Edges are as wide as the bytes that they carry, and look like the memory
// that these come from. What lies outside the window is not drawn, nor text that nobody could read.

import { bytes, css, empty, h, percent } from "./dom.js";

const MEMORY = ["registers", "L1", "L2", "L3", "DRAM"];
const DASHES = { registers: [2, 4], L1: [8, 4], L2: [16, 4], L3: [], DRAM: [] };
const WIDEST = 22; // of an edge, in units of the drawing: the largest tensor of the level
const READABLE = 5.5; // pixels of a letter below which no text is drawn
const BEGINS = 0.55; // the smallest scale that a drawing begins with
const HIT = 6; // pixels around an edge that count as on it

export class GraphView {
  constructor({ select, toggle, enter, announce }) {
    Object.assign(this, { select, toggle, enter, announce });
    this.canvas = h("canvas", { tabindex: "0", role: "application", "aria-roledescription": "graph", "aria-label": "Graph of the program", "aria-describedby": "graph-keys" });
    this.tip = h("div", { class: "tip", hidden: true });
    this.legend = h("div", { class: "legend", role: "group", "aria-label": "Legend" });
    const keys = h("p", { id: "graph-keys", class: "hidden" }, "Arrow keys walk along edges, Enter opens a group or the code of a nest, plus and minus zoom, 0 shows everything, Shift with arrows pans. The tree beside it holds the same nodes.");
    this.element = h("div", { class: "graph" }, this.canvas, this.tip, this.legend, keys);
    this.zoom = { scale: 1, x: 0, y: 0 };
    this.drawing = { boxes: [], lines: [], width: 1, height: 1 };
    this.frames = [];
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  // ---- what is drawn ------------------------------------------------------------------------------------------------

  show(drawing, { keep = false, focus = null } = {}) {
    const anchor = keep && focus ? this.place(focus) : null;
    this.drawing = drawing;
    this.boxes = new Map(drawing.boxes.map((box) => [box.name, box]));
    const most = Math.max(1, ...drawing.lines.map((line) => line.bytes));
    for (const line of drawing.lines) {
      line.width = Math.max(1, (line.bytes / most) * WIDEST);
      const xs = line.points.filter((_, i) => i % 2 === 0);
      const ys = line.points.filter((_, i) => i % 2 === 1);
      line.bounds = [Math.min(...xs) - WIDEST, Math.min(...ys), Math.max(...xs) + WIDEST, Math.max(...ys)];
      line.path = path(line.points);
    }
    drawing.lines.sort((a, b) => b.width - a.width); // thin ones on top
    this.describe(most);
    const now = anchor && this.place(focus);
    if (now) {
      this.zoom.x += anchor.x - now.x;
      this.zoom.y += anchor.y - now.y;
    } else this.begin();
    this.dirty();
  }

  describe(most) {
    const used = new Set(this.drawing.lines.map((line) => line.comes_from));
    const swatch = (name) => {
      const canvas = h("canvas", { width: 34, height: 8, "aria-hidden": "true" });
      const draw = canvas.getContext("2d");
      draw.strokeStyle = css(`--memory-${name}`);
      draw.lineWidth = name === "DRAM" ? 7 : 4;
      draw.setLineDash(DASHES[name]);
      draw.beginPath();
      draw.moveTo(0, 4);
      draw.lineTo(34, 4);
      draw.stroke();
      return h("span", { class: "key" }, canvas, name);
    };
    empty(this.legend, h("span", {}, `widest edge ${bytes(most)} · read from`), MEMORY.filter((name) => used.has(name)).map(swatch));
    const groups = this.drawing.boxes.filter((box) => box.kind === "group").length;
    this.canvas.setAttribute("aria-label", `Graph of the program: ${this.drawing.boxes.length - groups} nodes, ${groups} groups, ${this.drawing.lines.length} edges`);
  }

  mark(selection) {
    this.selection = selection;
    this.dirty();
  }

  place(name) {
    const box = this.boxes?.get(name);
    return box ? { x: box.at[0] * this.zoom.scale + this.zoom.x, y: box.at[1] * this.zoom.scale + this.zoom.y } : null;
  }

  // have a node in the window, or both ends of an edge: as far in as there is room for, and the last one in any case
  reveal(...names) {
    const places = names.map((name) => this.boxes?.get(name)?.at).filter(Boolean);
    if (!places.length) return;
    if (this.zoom.scale < 0.35) this.zoom.scale = 0.9;
    const { scale } = this.zoom;
    const around = (some) => [Math.min(...some.map((at) => at[0])), Math.min(...some.map((at) => at[1])), Math.max(...some.map((at) => at[0] + at[2])), Math.max(...some.map((at) => at[1] + Math.min(at[3], 60 / scale)))];
    let [left, top, right, bottom] = around(places);
    if ((right - left) * scale > this.wide || (bottom - top) * scale > this.high) [left, top, right, bottom] = around(places.slice(-1));
    const inside = left * scale + this.zoom.x >= 0 && top * scale + this.zoom.y >= 0 && right * scale + this.zoom.x <= this.wide && bottom * scale + this.zoom.y <= this.high;
    if (!inside) {
      this.zoom.x = held(this.wide / 2 - ((left + right) / 2) * scale, this.wide, this.drawing.width * scale);
      this.zoom.y = held(this.high / 2 - ((top + bottom) / 2) * scale, this.high, this.drawing.height * scale);
    }
    this.dirty();
  }

  // a drawing begins whole or, where nobody could read it then, at its upper end
  begin() {
    const { width, height } = this.drawing;
    const whole = Math.min((this.wide - 24) / width, (this.high - 24) / height);
    this.scaled(Math.max(whole, Math.min(0.8, Math.max((this.wide - 24) / width, BEGINS))));
  }

  fit() {
    const { width, height } = this.drawing;
    this.scaled(Math.min((this.wide - 24) / width, (this.high - 24) / height));
  }

  scaled(scale) {
    const { width, height } = this.drawing;
    this.zoom.scale = Math.min(1.4, Math.max(0.02, scale));
    this.zoom.x = (this.wide - width * this.zoom.scale) / 2;
    this.zoom.y = Math.max(12, (this.high - height * this.zoom.scale) / 2);
    this.dirty();
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    const first = !this.wide;
    this.wide = this.canvas.clientWidth;
    this.high = this.canvas.clientHeight;
    this.canvas.width = Math.max(1, Math.round(this.wide * ratio));
    this.canvas.height = Math.max(1, Math.round(this.high * ratio));
    if (first && this.wide) this.begin();
    this.dirty();
  }

  // ---- drawing ------------------------------------------------------------------------------------------------------

  dirty() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  colours() {
    const names = ["surface", "panel", "group", "line", "text", "muted", "accent", "heat", "heat-text"];
    const found = Object.fromEntries(names.map((name) => [name, css(`--${name}`)]));
    for (const name of MEMORY) found[name] = css(`--memory-${name}`);
    return found;
  }

  draw() {
    if (!this.wide) return;
    const draw = this.canvas.getContext("2d");
    const ratio = devicePixelRatio || 1;
    const { scale, x, y } = this.zoom;
    const colour = (this.palette ??= this.colours());
    draw.setTransform(1, 0, 0, 1, 0, 0);
    draw.fillStyle = colour.surface;
    draw.fillRect(0, 0, this.canvas.width, this.canvas.height);
    draw.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * x, ratio * y);
    const window = [-x / scale, -y / scale, (this.wide - x) / scale, (this.high - y) / scale];
    const seen = this.drawing.boxes.filter(({ at }) => at[0] < window[2] && at[1] < window[3] && at[0] + at[2] > window[0] && at[1] + at[3] > window[1]);
    const groups = seen.filter((box) => box.kind === "group" && box.open);
    for (const box of groups) this.rectangle(draw, box, box.depth % 2 ? colour.group : colour.surface, colour.line);
    this.edges(draw, colour, window);
    const leaves = seen.filter((box) => box.kind !== "group" || !box.open);
    for (const box of leaves) this.rectangle(draw, box, this.fill(box, colour), box.kind === "group" ? colour.text : colour.line);
    if (11 * scale >= READABLE) this.labels(draw, colour, leaves, groups);
    this.marked(draw, colour);
  }

  fill(box, colour) {
    return box.share ? mix(colour.panel, colour.heat, Math.min(1, Math.sqrt(box.share) * 1.4)) : colour.panel;
  }

  rectangle(draw, { at, kind }, fill, stroke) {
    draw.fillStyle = fill;
    draw.fillRect(at[0], at[1], at[2], at[3]);
    draw.lineWidth = kind === "group" ? 1.6 : 1;
    draw.strokeStyle = stroke;
    draw.strokeRect(at[0], at[1], at[2], at[3]);
  }

  edges(draw, colour, window) {
    const batches = new Map(); // edges of one look are drawn by one call
    for (const line of this.drawing.lines) {
      const [left, top, right, bottom] = line.bounds;
      if (left > window[2] || top > window[3] || right < window[0] || bottom < window[1]) continue;
      const look = `${line.comes_from}|${Math.round(line.width)}`;
      if (!batches.has(look)) batches.set(look, []);
      batches.get(look).push(line);
    }
    draw.lineCap = "butt";
    draw.globalAlpha = 0.75;
    for (const lines of batches.values()) {
      draw.strokeStyle = colour[lines[0].comes_from];
      draw.lineWidth = Math.max(lines[0].width, 0.8 / this.zoom.scale);
      draw.setLineDash(this.zoom.scale > 0.25 ? DASHES[lines[0].comes_from] : []);
      const all = new Path2D();
      for (const line of lines) all.addPath(line.path);
      draw.stroke(all);
    }
    draw.globalAlpha = 1;
    draw.setLineDash([]);
  }

  labels(draw, colour, leaves, groups) {
    draw.textBaseline = "alphabetic";
    draw.textAlign = "left";
    draw.fillStyle = colour.text;
    draw.font = "600 13px system-ui, sans-serif";
    for (const { at, label, share } of groups) draw.fillText(`${label}${share ? `  ${percent(share, 0)}` : ""}`, at[0] + 12, at[1] + 18);
    draw.textAlign = "center";
    for (const { at, label, kind, open } of leaves) draw.fillText(`${kind === "group" && !open ? "▸ " : ""}${label}`, at[0] + at[2] / 2, at[1] + 17, at[2] - 8);
    if (9 * this.zoom.scale < READABLE) return;
    draw.font = "11px system-ui, sans-serif";
    for (const { at, below, share, kind } of leaves) {
      draw.fillStyle = share > 0.25 ? colour["heat-text"] : colour.muted;
      draw.fillText(`${share ? `${percent(share, share < 0.1 ? 1 : 0)} · ` : ""}${kind === "library" ? "library: " : ""}${below}`, at[0] + at[2] / 2, at[1] + 32, at[2] - 8);
    }
  }

  marked(draw, colour) {
    const chosen = this.selection;
    if (!chosen) return;
    draw.strokeStyle = colour.accent;
    draw.lineWidth = 3 / Math.min(1, this.zoom.scale);
    if (chosen.kind === "edge") {
      const line = this.line(chosen);
      if (line) {
        draw.lineWidth = Math.max(line.width + 4, 4 / this.zoom.scale);
        draw.stroke(line.path);
      }
      return;
    }
    const box = this.boxes?.get(chosen.name ?? chosen.path);
    if (box) draw.strokeRect(box.at[0] - 3, box.at[1] - 3, box.at[2] + 6, box.at[3] + 6);
  }

  line(chosen) {
    return this.drawing.lines.find((line) => line.edges.some((edge) => edge.producer === chosen.producer && edge.consumer === chosen.consumer));
  }

  // ---- mouse --------------------------------------------------------------------------------------------------------

  listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.scale(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      this.drag = { x: event.offsetX, y: event.offsetY, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => this.moved(event));
    canvas.addEventListener("pointerup", (event) => {
      const click = this.drag && !this.drag.moved;
      this.drag = null;
      if (click) this.click(event.offsetX, event.offsetY);
    });
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    canvas.addEventListener("dblclick", (event) => {
      const found = this.at(event.offsetX, event.offsetY);
      if (found?.box?.kind === "group") this.toggle(found.box.name);
      else if (found?.box) this.enter(found.box.name);
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  scale(factor, x, y) {
    const scale = Math.min(4, Math.max(0.02, this.zoom.scale * factor));
    const ratio = scale / this.zoom.scale;
    this.zoom = { scale, x: x - (x - this.zoom.x) * ratio, y: y - (y - this.zoom.y) * ratio };
    this.dirty();
  }

  moved(event) {
    if (this.drag) {
      const [dx, dy] = [event.offsetX - this.drag.x, event.offsetY - this.drag.y];
      if (!this.drag.moved && Math.hypot(dx, dy) < 4) return;
      this.zoom.x += dx;
      this.zoom.y += dy;
      this.drag = { x: event.offsetX, y: event.offsetY, moved: true };
      this.dirty();
      return;
    }
    const found = this.at(event.offsetX, event.offsetY);
    this.canvas.style.cursor = found ? "pointer" : "grab";
    this.tip.hidden = !found;
    if (!found) return;
    const { line, box } = found;
    this.tip.textContent = line ? `${line.from} → ${line.to}: ${bytes(line.bytes)}${line.count > 1 ? ` in ${line.count} tensors` : ""}, from ${line.comes_from}` : `${box.name} · ${box.below}`;
    this.tip.style.left = `${Math.min(event.offsetX + 14, this.wide - 260)}px`;
    this.tip.style.top = `${event.offsetY + 16}px`;
  }

  at(x, y) {
    const [px, py] = [(x - this.zoom.x) / this.zoom.scale, (y - this.zoom.y) / this.zoom.scale];
    const inside = ({ at }) => px >= at[0] && px <= at[0] + at[2] && py >= at[1] && py <= at[1] + at[3];
    const boxes = this.drawing.boxes.filter(inside);
    const leaf = boxes.findLast((box) => box.kind !== "group" || !box.open);
    if (leaf) return { box: leaf };
    let best = null;
    for (const line of this.drawing.lines) {
      const reach = Math.max(line.width / 2, HIT / this.zoom.scale);
      if (px < line.bounds[0] - reach || px > line.bounds[2] + reach || py < line.bounds[1] - reach || py > line.bounds[3] + reach) continue;
      const far = distance(line.points, px, py);
      if (far <= reach && (!best || far < best.far)) best = { line, far };
    }
    if (best) return { line: best.line };
    const group = boxes.at(-1);
    return group ? { box: group } : null;
  }

  click(x, y) {
    const found = this.at(x, y);
    if (!found) this.select(null);
    else if (found.line) this.select(asEdge(found.line));
    else if (found.box.kind === "group") this.select({ kind: "group", path: found.box.name });
    else this.select({ kind: "node", name: found.box.name });
  }

  // ---- keyboard -----------------------------------------------------------------------------------------------------

  key(event) {
    const far = 60;
    const arrows = { ArrowUp: [0, far], ArrowDown: [0, -far], ArrowLeft: [far, 0], ArrowRight: [-far, 0] };
    if (event.shiftKey && arrows[event.key]) {
      this.zoom.x += arrows[event.key][0];
      this.zoom.y += arrows[event.key][1];
      this.dirty();
    } else if (arrows[event.key]) this.walk(event.key);
    else if (event.key === "+" || event.key === "=") this.scale(1.25, this.wide / 2, this.high / 2);
    else if (event.key === "-") this.scale(0.8, this.wide / 2, this.high / 2);
    else if (event.key === "0") this.fit();
    else if (event.key === "Enter" || event.key === " ") {
      const name = this.selection?.name ?? this.selection?.path;
      const box = this.boxes?.get(name);
      if (box?.kind === "group") this.toggle(name);
      else if (box) this.enter(name);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  walk(key) {
    const chosen = this.selection;
    const box = this.boxes?.get(chosen?.name ?? chosen?.path ?? chosen?.consumer) ?? null;
    let next = null;
    if (!box) next = this.drawing.boxes.find((one) => !(one.kind === "group" && one.open));
    else if (key === "ArrowDown") next = this.boxes.get(this.drawing.lines.find((line) => line.from === box.name)?.to);
    else if (key === "ArrowUp") next = this.boxes.get(this.drawing.lines.find((line) => line.to === box.name)?.from);
    next ??= this.beside(box, key);
    if (!next) return;
    this.select(next.kind === "group" ? { kind: "group", path: next.name } : { kind: "node", name: next.name });
    this.reveal(next.name);
    this.announce(`${next.label}, ${next.below}`);
  }

  beside(box, key) {
    const centre = ({ at }) => [at[0] + at[2] / 2, at[1] + at[3] / 2];
    const [x, y] = centre(box);
    const [dx, dy] = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[key];
    let best = null;
    for (const one of this.drawing.boxes) {
      if (one === box || (one.kind === "group" && one.open)) continue;
      const [ox, oy] = centre(one);
      const ahead = (ox - x) * dx + (oy - y) * dy;
      const aside = Math.abs((ox - x) * dy) + Math.abs((oy - y) * dx);
      if (ahead > 1 && (!best || ahead + 2 * aside < best.far)) best = { one, far: ahead + 2 * aside };
    }
    return best?.one ?? null;
  }

  // everything moves, frame by frame: how the tests measure what a frame takes
  pan(frames) {
    return new Promise((done) => {
      const step = (left) => {
        if (!left) return done();
        this.zoom.x += left % 2 ? -7 : 7;
        this.draw();
        return requestAnimationFrame(() => step(left - 1));
      };
      step(frames);
    });
  }

  recolour() {
    this.palette = null;
    this.describe(Math.max(1, ...this.drawing.lines.map((line) => line.bytes)));
    this.dirty();
  }
}

// where a drawing lies, so that no room is left empty at one end of it while it goes on at the other
function held(at, room, long) {
  const margin = 12;
  return long + 2 * margin <= room ? at : Math.min(margin, Math.max(room - long - margin, at));
}

export function asEdge(line) {
  const [edge] = line.edges;
  return { kind: "edge", producer: edge.producer, consumer: edge.consumer, line };
}

function path(points) {
  const found = new Path2D();
  found.moveTo(points[0], points[1]);
  for (let i = 2; i < points.length; i += 2) {
    const [x, y, toX, toY] = [points[i - 2], points[i - 1], points[i], points[i + 1]];
    const middle = (y + toY) / 2;
    found.bezierCurveTo(x, middle, toX, middle, toX, toY);
  }
  return found;
}

function distance(points, x, y) {
  let best = Infinity;
  for (let i = 2; i < points.length; i += 2) {
    const [ax, ay, bx, by] = [points[i - 2], points[i - 1], points[i], points[i + 1]];
    for (let t = 0; t <= 1; t += 1 / 12) {
      const ease = t * t * (3 - 2 * t); // near the curve that is drawn
      best = Math.min(best, Math.hypot(ax + (bx - ax) * ease - x, ay + (by - ay) * t - y));
    }
  }
  return best;
}

function mix(from, to, share) {
  const [a, b] = [from, to].map((text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)));
  return `rgb(${a.map((value, i) => Math.round(value + (b[i] - value) * share)).join(",")})`;
}
