// Where answers come from: the server of a live studio, or the data inside a report. The page asks both the same way.

export class LiveSource {
  constructor({ progress, closed, changed }) {
    this.live = true;
    this.waiting = new Map();
    this.next = 1;
    this.progress = progress;
    this.closed = closed;
    this.changed = changed;
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new WebSocket(`${scheme}://${location.host}/session`);
    this.socket.addEventListener("message", (event) => this.heard(JSON.parse(event.data)));
    this.socket.addEventListener("close", () => this.gone());
    return new Promise((done, failed) => {
      this.socket.addEventListener("open", () => done(), { once: true });
      this.socket.addEventListener("close", () => failed(new Error("the studio does not answer")), { once: true });
    });
  }

  call(command, given = {}) {
    const id = this.next++;
    return new Promise((done, failed) => {
      if (this.socket.readyState !== WebSocket.OPEN) {
        failed(new Error("the studio has ended; start it again with `strop studio`"));
        return;
      }
      this.waiting.set(id, { done, failed, command });
      this.socket.send(JSON.stringify({ id, do: command, with: given }));
    });
  }

  idle() {
    return this.waiting.size === 0;
  }

  cancel() {
    for (const id of this.waiting.keys()) {
      if (this.waiting.get(id).command !== "cancel") this.call("cancel", { id }).catch(() => {});
    }
  }

  heard(message) {
    if ("changed" in message) {
      this.changed(message.changed);
      return;
    }
    const asked = this.waiting.get(message.id);
    if (!asked) return;
    if ("progress" in message) {
      this.progress(asked.command, message.progress, message.seconds);
      return;
    }
    this.waiting.delete(message.id);
    if (!this.waiting.size) this.progress(null);
    if ("error" in message) asked.failed(Object.assign(new Error(message.error.message), message.error, { cancelled: message.cancelled }));
    else asked.done(message.result);
  }

  gone() {
    for (const asked of this.waiting.values()) asked.failed(new Error("the studio has ended"));
    this.waiting.clear();
    this.progress(null);
    this.closed();
  }
}

export function keyOf(command, given) {
  return `${command}|${JSON.stringify(Object.fromEntries(Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1))))}`;
}

export class ReportSource {
  constructor(answers) {
    this.live = false;
    this.answers = answers;
    this.shown = new Map(); // level and half → groups that are open
  }

  async open() {}

  idle() {
    return true;
  }

  cancel() {}

  async call(command, given = {}) {
    const key = keyOf(command, command === "graph" ? this.nearest(given) : given);
    if (!(key in this.answers.keys)) throw new Error(`this report does not hold \`${command}\` of that`);
    return this.whole(this.answers.keys[key]);
  }

  // parts that several answers share are written once
  whole(value) {
    if (Array.isArray(value)) return value.map((one) => this.whole(one));
    if (value === null || typeof value !== "object") return value;
    if ("part" in value) return this.whole(this.answers.parts[value.part]);
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.whole(one)]));
  }

  // A report holds drawings with one path of groups open, with all open and with none: the one that was asked for last.
  nearest(given) {
    const where = `${given.level}|${given.half ?? ""}`;
    const before = new Set(this.shown.get(where) ?? []);
    const added = given.open.filter((path) => !before.has(path));
    const all = this.answers.groups[where] ?? [];
    let open = [];
    if (given.open.length >= all.length) open = all;
    else if (added.length || given.open.length < before.size) {
      const wanted = added.length ? added : given.open;
      const longest = wanted.reduce((a, b) => (b.split(".").length > a.split(".").length ? b : a), wanted[0] ?? "");
      open = ancestors(longest, true);
    } else open = [...before];
    open.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    this.shown.set(where, open);
    return { ...given, open };
  }
}

export function ancestors(path, itself = false) {
  const parts = path ? path.split(".") : [];
  const found = [];
  for (let depth = 1; depth < parts.length + (itself ? 1 : 0); depth++) found.push(parts.slice(0, depth).join("."));
  return found;
}

async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

export async function sourceOfPage(handlers) {
  const held = document.getElementById("report-data");
  if (held) return new ReportSource(await unpacked(held.textContent));
  if (location.search) history.replaceState(null, "", "/"); // the token has become a cookie
  return new LiveSource(handlers);
}
