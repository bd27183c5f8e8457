// The model as a tree: modules by their path, and in each what it computes. Branches are made when they are opened.

import { bytes, empty, h, percent } from "./dom.js";

export class Tree {
  constructor(element, { select, toggle }) {
    this.element = element;
    this.select = select;
    this.toggle = toggle;
    this.open = new Set();
    this.items = new Map(); // name → the element of its row
    element.addEventListener("keydown", (event) => this.key(event));
  }

  show(nodes, open) {
    this.open = open;
    this.root = { name: "", path: "", groups: new Map(), nodes: [], cycles: 0, count: 0 };
    this.homes = new Map();
    for (const node of nodes) {
      if (node.kind === "parameter" || node.kind === "constant") continue;
      let group = this.root;
      const parts = node.home ? node.home.split(".") : [];
      this.add(group, node);
      for (const part of parts) {
        const path = group.path ? `${group.path}.${part}` : part;
        if (!group.groups.has(part)) group.groups.set(part, { name: part, path, groups: new Map(), nodes: [], cycles: 0, count: 0 });
        group = group.groups.get(part);
        this.add(group, node);
      }
      group.nodes.push(node);
      this.homes.set(node.name, group.path);
    }
    this.draw();
  }

  add(group, node) {
    group.cycles += node.cycles ?? 0;
    group.count += 1;
  }

  draw() {
    const before = this.element.querySelector("[tabindex='0']")?.dataset.name;
    this.items.clear();
    const rows = [];
    this.collect(this.root, 1, rows);
    const list = h("ul", { role: "tree", "aria-label": "Modules and what they compute" }, rows);
    empty(this.element, list);
    const first = this.items.get(before) ?? this.items.values().next().value;
    if (first) first.tabIndex = 0;
    if (this.selected) this.mark(this.selected);
  }

  // one flat list: `aria-level` says how deep an item is
  collect(group, level, rows) {
    const size = group.groups.size + group.nodes.length;
    let at = 1;
    for (const one of group.groups.values()) {
      rows.push(placed(this.group(one, level), at++, size));
      if (this.open.has(one.path)) this.collect(one, level + 1, rows);
    }
    for (const node of group.nodes) rows.push(placed(this.node(node, level), at++, size));
  }

  group(one, level) {
    const expanded = this.open.has(one.path);
    const share = this.root.cycles ? percent(one.cycles / this.root.cycles, 0) : "";
    const row = h("span", { class: "row" }, h("span", { class: "twist", "aria-hidden": "true" }, expanded ? "▾" : "▸"), h("b", {}, one.name), h("small", {}, `${one.count}${share ? ` · ${share}` : ""}`));
    const item = h("li", { role: "treeitem", tabindex: "-1", "aria-expanded": String(expanded), "aria-level": level, "data-name": one.path, "data-group": "1" }, row);
    row.addEventListener("click", () => this.choose(item));
    row.firstChild.addEventListener("click", (event) => {
      event.stopPropagation();
      this.toggle(one.path);
    });
    row.addEventListener("dblclick", () => this.toggle(one.path));
    this.items.set(one.path, item);
    return item;
  }

  node(node, level) {
    const share = this.root.cycles && node.cycles ? percent(node.cycles / this.root.cycles, 0) : "";
    const row = h("span", { class: "row leaf" }, h("span", { class: `dot kind-${node.kind}`, "aria-hidden": "true" }), h("span", {}, node.home && node.name.startsWith(`${node.home}.`) ? node.name.slice(node.home.length + 1) : node.name), h("small", {}, `${share ? `${share} · ` : ""}${node.what}`));
    const item = h("li", { role: "treeitem", tabindex: "-1", "aria-level": level, "data-name": node.name, title: `${node.name}: ${node.kind}, writes ${bytes(node.bytes_written)}` }, row);
    row.addEventListener("click", () => this.choose(item));
    this.items.set(node.name, item);
    return item;
  }

  choose(item) {
    this.focus(item);
    this.select(item.dataset.group ? { kind: "group", path: item.dataset.name } : { kind: "node", name: item.dataset.name });
  }

  focus(item) {
    for (const other of this.element.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    item.tabIndex = 0;
    item.focus({ preventScroll: true });
    item.querySelector(".row").scrollIntoView({ block: "nearest" });
  }

  mark(name) {
    this.selected = name;
    for (const other of this.element.querySelectorAll("[aria-selected]")) other.removeAttribute("aria-selected");
    const item = this.items.get(name);
    if (!item) return;
    item.setAttribute("aria-selected", "true");
    item.querySelector(".row").scrollIntoView({ block: "nearest" });
  }

  key(event) {
    const item = event.target.closest("[role='treeitem']");
    if (!item) return;
    const all = [...this.element.querySelectorAll("[role='treeitem']")];
    const at = all.indexOf(item);
    const group = item.dataset.group;
    const expanded = item.getAttribute("aria-expanded") === "true";
    let next = null;
    if (event.key === "ArrowDown") next = all[at + 1];
    else if (event.key === "ArrowUp") next = all[at - 1];
    else if (event.key === "Home") next = all[0];
    else if (event.key === "End") next = all[all.length - 1];
    else if (event.key === "ArrowRight" && group && !expanded) this.toggle(item.dataset.name);
    else if (event.key === "ArrowRight" && group) next = all[at + 1];
    else if (event.key === "ArrowLeft" && group && expanded) this.toggle(item.dataset.name);
    else if (event.key === "ArrowLeft") next = all.slice(0, at).findLast((one) => Number(one.ariaLevel) < Number(item.ariaLevel));
    else if (event.key === "Enter" || event.key === " ") this.choose(item);
    else return;
    event.preventDefault();
    if (next) this.focus(next);
  }

  focusAgain(name) {
    const item = this.items.get(name);
    if (item) this.focus(item);
  }
}

function placed(item, at, size) {
  item.setAttribute("aria-posinset", at);
  item.setAttribute("aria-setsize", size);
  item.querySelector(".row").style.paddingLeft = `${(item.ariaLevel - 1) * 14 + 4}px`;
  return item;
}
