// The page: what is shown, what is selected, which key does what. Everything it knows comes from `source.call`.

import { CodeView } from "./code.js";
import { TimeView, memoryView, roofline } from "./charts.js";
import { button, bytes, download, empty, h, microseconds, roving } from "./dom.js";
import { GraphView } from "./graph.js";
import { CompareView, checkText, historyView, trainingView } from "./history.js";
import { Inspector } from "./inspector.js";
import { ancestors, sourceOfPage } from "./source.js";
import { Tree } from "./tree.js";

const VIEWS = ["Graph", "Code", "Roofline", "Time", "Memory", "History", "Compare", "Training"];
const LEVELS = { captured: "captured graph", graph: "simplified graph", nests: "nests, not fused", fused: "nests, fused", plan: "plan" };
const PREPARED = "when parameters change"; // the group of what does not run at every call
const THEMES = ["auto", "light", "dark"];
const KEYS = [
  ["/", "search"], ["1 … 8", "views"], ["u", "undo"], ["y", "redo"], ["m", "measure"], ["c", "check the numbers"], ["b", "branch"], ["e", "export the script"], ["s", "save the session"],
  ["o", "open or close all groups"], ["t", "light or dark"], ["Esc", "cancel what runs, or close"], ["?", "this list"],
];
const el = (id) => document.getElementById(id);
const state = { view: "Graph", level: "plan", half: "", open: new Set(), selection: null, nodes: [], lines: [], overview: null, busy: false, stale: null };

let source = null;
let graph = null;
let tree = null;
let inspector = null;
let code = null;
let time = null;
let compare = null;

async function start() {
  source = await sourceOfPage({ progress: showProgress, changed, closed: () => say("The studio has ended. Start it again with `strop studio`.") });
  graph = new GraphView({ select, toggle, enter, announce: say });
  tree = new Tree(el("tree"), { select, toggle });
  inspector = new Inspector(el("inspector"), { ask, act, select, enter, live: source.live });
  code = new CodeView({ ask, select });
  time = new TimeView({ select, measure: () => act("measure", {}) });
  compare = new CompareView({ ask, act });
  frame();
  try {
    await source.open();
    if (source.live) await opened();
    await refresh();
    say(source.live ? "Ready." : "A report: what it shows was computed when it was written.");
  } catch (error) {
    failed(error);
  }
}

// the studio answers before its model is compiled: that has progress, can be cancelled, and may fail
async function opened() {
  const { model, open } = await ask("about");
  el("model").textContent = model;
  document.title = `${model} · Strop studio`;
  document.body.classList.toggle("opening", !open);
  for (let done = open; !done; ) {
    empty(el("view"), h("section", { class: "chart-view", id: "opening" }, h("h2", {}, `Opening ${model}`), h("p", { class: "hint" }, "It is being compiled. The line at the bottom says how far that is; Escape cancels it.")));
    try {
      await ask("open_model");
      done = true;
    } catch (error) {
      failed(error);
      const again = button("Open it again", null, { class: "primary", id: "open-again" });
      const why = h("p", { class: error.cancelled ? "" : "refusal" }, error.cancelled ? "Opening it was cancelled." : [error.code, error.message].filter(Boolean).join(": "));
      empty(el("view"), h("section", { class: "chart-view", id: "opening" }, h("h2", {}, `${model} is not open`), why, error.where ? h("p", {}, h("code", {}, error.where)) : null, error.help && !error.cancelled ? h("p", { class: "hint" }, error.help) : null, again));
      again.focus();
      await new Promise((chosen) => again.addEventListener("click", chosen, { once: true }));
    }
  }
  document.body.classList.remove("opening");
}

function ask(command, given = {}) {
  return source.call(command, given);
}

// ---- the frame ------------------------------------------------------------------------------------------------------

function frame() {
  const theme = remembered("theme") ?? "auto";
  document.documentElement.dataset.theme = theme;
  const tabs = VIEWS.map((name, i) => button(name, () => showView(name), { role: "tab", id: `tab-${name}`, "aria-selected": "false", "aria-controls": "view", tabindex: i ? "-1" : "0", title: `${name} (${i + 1})` }));
  el("tabs").append(...tabs);
  roving(el("tabs"), "[role='tab']", { ArrowRight: 1, ArrowLeft: -1, Home: "first", End: "last" });
  const live = [
    ["Undo", () => act("undo", {}), "u", "undo"], ["Redo", () => act("redo", {}), "y", "redo"], ["Measure", () => act("measure", {}), "m"], ["Check", () => act("check", {}), "c"],
    ["Branch", askBranch, "b"], ["Script", exportScript, "e"], ["Save", saveSession, "s"],
  ].map(([text, run, key, id]) => button(text, run, { title: `${text} (${key})`, id: id ? `do-${id}` : null }));
  const branches = h("label", { id: "branch-label" }, "Branch ", h("select", { id: "branches", onchange: (event) => act("switch", { name: event.target.value }) }));
  const always = [button("Theme", nextTheme, { title: "Light or dark (t)" }), button("Keys", showKeys, { title: "All keys (?)" }), button("Model", () => document.body.classList.toggle("side-open"), { class: "narrow-only", "aria-label": "Show or hide the model tree" })];
  el("actions").append(...(source.live ? [branches, ...live] : [button("Script", exportScript, { title: "Script (e)" })]), ...always);
  el("level").addEventListener("change", () => changeLevel(el("level").value));
  el("half").addEventListener("change", () => changeHalf(el("half").value));
  el("cancel").addEventListener("click", () => source.cancel());
  el("search").addEventListener("input", search);
  el("search").addEventListener("keydown", searchKey);
  document.addEventListener("keydown", key);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph.recolour());
}

function remembered(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(`strop-${name}`);
    localStorage.setItem(`strop-${name}`, value);
  } catch {
    return null; // a file has no storage in some browsers
  }
  return value;
}

function nextTheme() {
  const theme = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
  document.documentElement.dataset.theme = theme;
  remembered("theme", theme);
  graph.recolour();
  say(`Theme: ${theme}.`);
}

function say(text) {
  el("said").className = "";
  el("said").textContent = text;
}

function failed(error) {
  el("said").className = error.cancelled ? "" : "refusal";
  el("said").textContent = [error.code, error.message, error.help].filter(Boolean).join(" · ");
}

function showProgress(command, step, seconds) {
  el("progress").hidden = !command;
  if (command) el("step").textContent = `${command.replaceAll("_", " ")}: ${step}, ${seconds.toFixed(1)} s`;
}

// ---- data -----------------------------------------------------------------------------------------------------------

async function refresh() {
  const first = !state.overview;
  state.overview = await ask("overview", { half: state.half });
  el("model").textContent = state.overview.model;
  document.title = `${state.overview.model} · Strop studio`;
  if (first) {
    empty(el("level"), state.overview.levels.map((name) => h("option", { value: name }, LEVELS[name] ?? name)));
    el("half-label").hidden = !state.overview.halves.length;
    if (state.overview.halves.length) {
      state.half = state.overview.halves[0];
      empty(el("half"), state.overview.halves.map((name) => h("option", { value: name }, name)));
    }
    state.level = state.overview.levels.at(-1);
    el("level").value = state.level;
  }
  totals();
  await reload(!first);
  if (first) await openFirst();
}

async function reload(keep = false) {
  const given = { level: state.level, half: state.half };
  const [outline, drawing] = await Promise.all([ask("outline", given), ask("graph", { ...given, open: [...state.open].sort() })]);
  state.nodes = outline.nodes;
  state.lines = drawing.lines;
  state.open = new Set(drawing.open);
  tree.show(state.nodes, state.open);
  graph.show(drawing, { keep, focus: state.selection?.name ?? state.selection?.path ?? state.selection?.consumer });
  await showView(state.view, false);
  await reselect();
}

// a small model opens whole; of a large one the outermost modules
async function openFirst() {
  const groups = (await ask("modules", { level: state.level, half: state.half })).filter((path) => path !== PREPARED);
  if (!groups.length || state.nodes.filter((node) => node.home !== PREPARED).length > 60) return;
  state.open = new Set(groups);
  await reload();
}

async function reselect() {
  const chosen = state.selection;
  const exists = (name) => state.nodes.some((node) => node.name === name);
  const gone = chosen && ((chosen.kind === "node" && !exists(chosen.name)) || (chosen.kind === "edge" && !(exists(chosen.producer) && exists(chosen.consumer))));
  if (gone) return select(null);
  if (chosen?.kind === "edge") chosen.line = graph.line(chosen) ?? chosen.line;
  graph.mark(chosen);
  inspector.show(chosen, { half: state.half, nodes: state.nodes, lines: state.lines });
}

function totals() {
  const now = state.overview.state;
  const parts = [["moves", bytes(now.bytes)], ["predicted", microseconds(now.predicted_us)], ["measured", microseconds(now.measured_us)]];
  const numbers = now.check ? h("span", { class: now.check.ok ? "good" : "refusal", title: now.check.told }, now.check.ok ? "✓ as eager" : "✗ not as eager") : null;
  empty(el("totals"), parts.map(([label, value]) => h("span", {}, `${label} `, h("b", { "data-total": label }, value))), numbers);
  if (!source.live) return;
  el("do-undo").disabled = !now.edits;
  el("do-redo").disabled = !now.undone;
  empty(el("branches"), now.branches.map((one) => h("option", { value: one.name, selected: one.current }, one.name)));
}

// ---- steering -------------------------------------------------------------------------------------------------------

async function act(command, given) {
  if (command === "ask-branch") return askBranch();
  if (!source.live || state.busy) return undefined;
  state.busy = true;
  const before = state.overview.state;
  say(`${command} …`);
  try {
    const found = await ask(command, { ...given, half: state.half });
    await refresh();
    const now = state.overview.state;
    const moved = now.bytes === before.bytes ? "" : ` ${bytes(before.bytes)} → ${bytes(now.bytes)}.`;
    const everywhere = found.applied ? ` ${found.applied.length} passes${found.left_out.length ? `, ${found.left_out.length} left out: ${found.left_out[0].why}` : ""}.` : "";
    say(`${command}: done.${moved}${everywhere}${found.check ? ` ${checkText(found.check)}` : ""}`);
  } catch (error) {
    failed(error);
  } finally {
    state.busy = false;
    if (state.stale) changed(state.stale);
  }
  return undefined;
}

// another page has changed the session, or what this one has cancelled had been done in part
async function changed(command) {
  if (state.busy) {
    state.stale = command;
    return;
  }
  state.stale = null;
  try {
    await refresh();
    say(`${command}, by another page or before it was cancelled: this is where the session stands.`);
  } catch (error) {
    failed(error);
  }
}

function askBranch() {
  const name = h("input", { id: "branch-name", value: `branch${state.overview.state.branches.length}`, autocomplete: "off" });
  const form = h("form", { method: "dialog" }, h("label", {}, "Name of the new branch ", name), h("div", { class: "inline" }, h("button", { type: "submit", class: "primary" }, "Branch"), button("Leave", () => el("dialog").close())));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    el("dialog").close();
    act("branch", { name: name.value });
  });
  openDialog("New branch", form);
  name.select();
}

async function exportScript() {
  try {
    const { text, words: lines } = await ask("script");
    const shown = h("pre", { id: "script", tabindex: "0", "aria-label": "The session as a Python program" }, lines.map((line) => h("div", {}, line.length ? line.map(([kind, part]) => h("span", { class: kind ? `w-${kind}` : null }, part)) : " ")));
    openDialog("The session as a script", shown, button("Download", () => download("session.py", text, "text/x-python"), { class: "primary", id: "download-script" }));
  } catch (error) {
    failed(error);
  }
}

async function saveSession() {
  try {
    download("session.json", (await ask("save")).text, "application/json");
    say("Saved: `strop studio session.json` opens it again.");
  } catch (error) {
    failed(error);
  }
}

function openDialog(title, ...children) {
  const dialog = el("dialog");
  empty(dialog, h("h2", { id: "dialog-title" }, title), children, button("Close", () => dialog.close(), { class: "close" }));
  dialog.showModal();
}

function showKeys() {
  openDialog("Keys", h("dl", { class: "keys" }, KEYS.map(([name, what]) => [h("dt", {}, h("kbd", {}, name)), h("dd", {}, what)])), h("p", { class: "hint" }, "In the graph, arrows walk along edges, Enter opens a group or the code of a nest, + and − zoom, 0 shows everything. The panel beside it lists the edges of what is selected."));
}

// ---- selection ------------------------------------------------------------------------------------------------------

async function select(given) {
  // nests that run by turns are one step, "first … last": the first of them is selected
  const strips = given?.kind === "node" && given.name.includes(" … ");
  const selection = strips ? { ...given, name: given.name.split(" … ")[0] } : given;
  state.selection = selection;
  const name = selection?.name ?? selection?.path ?? selection?.consumer ?? null;
  const node = state.nodes.find((one) => one.name === name);
  const hidden = node && node.home && !ancestors(node.home, true).every((path) => state.open.has(path));
  if (hidden && selection.kind !== "edge") {
    for (const path of ancestors(node.home, true)) state.open.add(path);
    await reload(false);
  }
  graph.mark(selection);
  if (name) tree.mark(name);
  inspector.show(selection, { half: state.half, nodes: state.nodes, lines: state.lines });
  if (name && state.view === "Graph") {
    graph.resize(); // the panel may have taken room
    graph.reveal(...(selection.kind === "edge" ? [selection.producer, name] : [name]));
  }
  if (state.view === "Code" && selection?.kind === "node") await showView("Code", false);
}

async function toggle(path) {
  if (state.open.has(path)) {
    for (const inner of [...state.open]) if (inner === path || inner.startsWith(`${path}.`)) state.open.delete(inner);
  } else for (const outer of ancestors(path, true)) state.open.add(outer);
  const inTree = el("tree").contains(document.activeElement);
  state.selection = { kind: "group", path };
  await reload(true);
  graph.reveal(path);
  if (inTree) tree.focusAgain(path);
}

async function toggleAll() {
  const groups = await ask("modules", { level: state.level, half: state.half });
  state.open = new Set(state.open.size < groups.length ? groups : []);
  await reload();
}

async function enter(name) {
  state.selection = { kind: "node", name };
  await showView("Code");
  await reselect();
}

async function changeLevel(level) {
  state.level = level;
  state.selection = null;
  await reload().catch(failed);
  await openFirst().catch(failed);
}

async function changeHalf(half) {
  state.half = half;
  el("half").value = half;
  state.selection = null;
  state.open = new Set();
  try {
    state.overview = await ask("overview", { half });
    totals();
    await reload();
    await openFirst();
  } catch (error) {
    failed(error);
  }
}

// ---- views ----------------------------------------------------------------------------------------------------------

const DRAW = {
  Graph: async () => graph.element,
  Code: async () => {
    const plan = state.level === "plan" ? state.nodes : (await ask("outline", { level: "plan", half: state.half })).nodes;
    const names = plan.filter((node) => node.kind === "nest").map((node) => node.name);
    const chosen = state.nodes.find((node) => node.name === state.selection?.name);
    const slowest = plan.reduce((a, b) => ((b.cycles ?? 0) > (a?.cycles ?? -1) ? b : a), null)?.name;
    code.show(names, names.includes(state.selection?.name) ? state.selection.name : (chosen?.kind === "operator" ? chosen.computes[0] : undefined) ?? slowest, state.half).catch(failed);
    return code.element;
  },
  Roofline: async () => roofline(await ask("prediction", { half: state.half }), state.overview.peak, select),
  Time: async () => {
    time.show(await ask("prediction", { half: state.half }), source.live);
    return time.element;
  },
  Memory: async () => memoryView(await ask("memory", { half: state.half }), select),
  History: async () => historyView(await ask("timeline", { half: state.half }), { live: source.live, ask, act, half: state.half }),
  Compare: async () => {
    compare.show(state.overview.state.branches, source.live, state.half).catch(failed);
    return compare.element;
  },
  Training: async () => trainingView(await ask("stored"), state.overview, { live: source.live, act, half: (name) => { changeHalf(name); showView("Graph"); } }),
};

async function showView(name, focus = true) {
  state.view = name;
  for (const tab of el("tabs").children) {
    const on = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
  }
  const other = el("view").dataset.view !== name;
  el("view").setAttribute("aria-label", name);
  el("view").dataset.view = name;
  // what takes longer does not leave another view's drawing under this one's name
  const wait = setTimeout(() => {
    if (other && state.view === name) empty(el("view"), h("p", { class: "hint" }, "Working on it…"));
  }, 300);
  try {
    const drawn = await DRAW[name]();
    if (state.view !== name) return;
    if (el("view").firstChild !== drawn || el("view").childNodes.length !== 1) empty(el("view"), drawn);
    if (focus && el("view").contains(document.activeElement)) el("view").focus();
  } catch (error) {
    if (state.view === name) empty(el("view"), h("p", { class: "refusal" }, error.message));
  } finally {
    clearTimeout(wait);
  }
}

// ---- search and keys ------------------------------------------------------------------------------------------------

function search() {
  const wanted = el("search").value.trim().toLowerCase();
  const fits = (node) => [node.name, node.what, node.module, node.type, ...node.origins].some((text) => text.toLowerCase().includes(wanted));
  const rank = ({ name, kind, home }) => (name.toLowerCase() === wanted ? 0 : kind === "parameter" || kind === "constant" || home === PREPARED ? 3 : name.toLowerCase().startsWith(wanted) ? 1 : 2);
  const found = wanted ? state.nodes.filter(fits).sort((a, b) => rank(a) - rank(b)).slice(0, 40) : [];
  const options = found.map((node, i) => {
    const option = h("li", { role: "option", id: `found-${i}`, "aria-selected": i ? "false" : "true", "data-name": node.name }, h("b", {}, node.name), ` ${node.what} `, h("small", {}, node.origins[0] ?? node.module));
    option.addEventListener("mousedown", (event) => {
      event.preventDefault();
      choose(node.name);
    });
    return option;
  });
  empty(el("found"), options);
  el("found").hidden = !wanted;
  if (wanted && !found.length) el("found").append(h("li", { role: "option", "aria-disabled": "true", "aria-selected": "false" }, "Nothing at this level."));
  el("search").setAttribute("aria-expanded", String(Boolean(wanted)));
  if (found.length) el("search").setAttribute("aria-activedescendant", "found-0");
  else el("search").removeAttribute("aria-activedescendant");
}

function searchKey(event) {
  const options = [...el("found").querySelectorAll("[data-name]")];
  const at = options.findIndex((one) => one.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    const to = options[Math.min(options.length - 1, Math.max(0, at + (event.key === "ArrowDown" ? 1 : -1)))];
    for (const one of options) one.setAttribute("aria-selected", String(one === to));
    to?.scrollIntoView({ block: "nearest" });
    if (to) el("search").setAttribute("aria-activedescendant", to.id);
  } else if (event.key === "Enter" && options[at]) {
    event.preventDefault(); // what gets the focus is not pressed by the same key
    choose(options[at].dataset.name);
  }
  else if (event.key === "Escape") {
    el("search").value = "";
    search();
  } else return;
  event.stopPropagation();
}

async function choose(name) {
  el("search").value = "";
  search();
  await select({ kind: "node", name });
  el("inspector").querySelector("button, summary, input")?.focus({ preventScroll: true });
}

const SHORTCUTS = {
  "/": () => el("search").focus(),
  "?": showKeys,
  t: nextTheme,
  o: toggleAll,
  e: exportScript,
};
const LIVE_SHORTCUTS = { u: () => act("undo", {}), y: () => act("redo", {}), m: () => act("measure", {}), c: () => act("check", {}), b: askBranch, s: saveSession };

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || el("dialog").open) return;
  if (event.key === "Escape") {
    source.cancel();
    return;
  }
  if (!state.overview) return; // nothing is open yet
  if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) return;
  const view = VIEWS[Number(event.key) - 1];
  const run = view ? () => showView(view) : (SHORTCUTS[event.key] ?? (source.live ? LIVE_SHORTCUTS[event.key] : undefined));
  if (!run) return;
  event.preventDefault();
  run();
}

// what the tests look at
globalThis.studio = { state, act, select, graph: () => graph, idle: () => !state.busy && source.idle(), ready: start() };
