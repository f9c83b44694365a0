// `Page`: what all stores of the page share: filters, theme, keys, the loop that draws; and either
// a `Follower` of a live store or a `Player` of recordings.

const STATES = [
  ["empty", "empty", (s, z) => s.state[z] === 0, { state: 0 }],
  ["open", "open, with write pointer", (s, z) => s.state[z] === 1, { state: 1, used: 1, kind: 2, live: 420, written: 520 }],
  ["closed", "closed", (s, z) => s.state[z] === 2, { state: 2, used: 1, kind: 3, live: 380, written: 560 }],
  ["full", "full", (s, z) => s.state[z] === 3, { state: 3, used: 1, kind: 4, live: 1000, written: 1000 }],
  ["dying", "full, half dead", (s, z) => s.state[z] === 3 && s.dead[z] >= 500, { state: 3, used: 1, kind: 4, live: 450, dead: 550, written: 1000 }],
  ["conventional", "conventional", (s, z) => s.state[z] === 6, { state: 6, used: 5 }],
  ["reserved", "reserved: journal, superblock", (s, z) => s.used[z] === 3 || s.used[z] === 4, { state: 1, used: 3, written: 300 }],
  ["failed", "read-only, offline", (s, z) => s.state[z] === 4 || s.state[z] === 5 || s.used[z] === 6, { state: 5 }],
  ["window", "in a compaction window", (s, z) => s.window[z] !== NONE, { state: 3, used: 1, kind: 2, live: 700, dead: 300, written: 1000, window: 2 }],
];

// Which zones are shown in full; the others are dimmed. Without a choice, all are.
class Filter {
  constructor() { this.levels = new Set(); this.states = new Set(); this.least = 0; }

  passes(store, zone) {
    if (this.least > 0 && store.liveShare(zone) < this.least) return false;
    if (this.levels.size && !store.kinds(zone).some(([kind]) => this.levels.has(kind))) return false;
    if (!this.states.size) return true;
    return STATES.some(([id, , holds]) => this.states.has(id) && holds(store, zone));
  }

  get isOn() { return this.levels.size + this.states.size + this.least > 0; }
}

class Page {
  constructor(setting) {
    this.setting = setting;
    this.isLive = setting.kind === "live";
    this.filter = new Filter();
    this.views = [];
    this.drawTimes = [];
    this.tip = new Tip(this);
    this.systems = document.getElementById("systems");
    this.kinds = new Map();
    this.chips = [];
    document.getElementById("title").textContent = setting.title;
    const parts = this.isLive ? [setting.system] : [setting.experiment, setting.source, setting.setting];
    document.getElementById("subtitle").textContent = parts.filter(Boolean).join("  ·  ");
    this.setTheme(this.kept("theme"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.setTheme(this.kept("theme")));
    document.getElementById("theme").addEventListener("click", () => this.turnTheme());
    document.getElementById("help").addEventListener("click", () => this.help());
    const least = document.getElementById("least");
    least.addEventListener("input", () => {
      this.filter.least = least.value * 10;
      document.getElementById("least-text").textContent = least.value + "\u00a0%";
      this.redraw();
    });
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.layout()).observe(this.systems);
    addEventListener("resize", () => this.layout());
    this.stateChips();
  }

  add(view) {
    this.views.push(view);
    this.systems.append(view.element);
    this.systems.className = this.isLive ? "single" : `many of-${Math.min(this.views.length, 3)}`;
  }

  layout() {
    const beside = this.views.length > 1 && innerWidth >= 900;
    const share = this.isLive ? 0.6 : beside ? 0.3 : 0.42;
    const most = Math.max(innerHeight * share, 170);
    for (const view of this.views) view.layout(most);
    if (this.player) this.player.drawStrips();
    this.wake();
  }

  redraw() { for (const view of this.views) view.store.isAllDirty = true; this.showChips(); this.wake(); }

  // Draws once in the next frame, and goes on while anything moves.
  wake() {
    if (this.isAwake) return;
    this.isAwake = true;
    requestAnimationFrame((now) => this.draw(now));
  }

  draw(now) {
    this.isAwake = false;
    const begun = performance.now();
    if (this.player) this.player.advance(now);
    let drawn = 0;
    for (const view of this.views) {
      this.seeKinds(view.store);
      drawn += view.draw(now);
    }
    this.drawTimes.push([performance.now() - begun, drawn]);
    if (this.drawTimes.length > 2000) this.drawTimes.shift();
    if ((this.player && this.player.isPlaying) || this.views.some((view) => view.isMoving)) this.wake();
  }

  // A chip for each kind of data that has been seen.
  seeKinds(store) {
    if (this.seenNumber === store.number && this.seenStore === store) return;
    [this.seenNumber, this.seenStore] = [store.number, store];
    let isNew = false;
    const see = (kind) => {
      if (kind === NONE || this.kinds.has(kind)) return;
      this.kinds.set(kind, kindName(kind, store.shape.has_names));
      isNew = true;
    };
    store.kind.forEach(see);
    if (store.windowed.length && !this.hasWindows) { this.hasWindows = true; this.stateChips(); }
    if (store.state.includes(6) !== !!this.hasConventional && !this.hasConventional) {
      this.hasConventional = true;
      this.stateChips();
    }
    if (isNew) this.levelChips();
  }

  chip(into, text, swatch, set, value) {
    const made = element("button", "chip", swatch, text);
    made.type = "button";
    made.addEventListener("click", () => this.toggle(set, value));
    into.append(made);
    this.chips.push([made, set, value]);
    return made;
  }

  toggle(set, value) {
    if (!set.delete(value)) set.add(value);
    this.redraw();
  }

  showChips() {
    for (const [chip, set, value] of this.chips) {
      chip.setAttribute("aria-pressed", set.has(value));
    }
    document.body.classList.toggle("filtered", this.filter.isOn);
  }

  levelChips() {
    const into = document.getElementById("levels");
    into.replaceChildren();
    this.chips = this.chips.filter(([, set]) => set !== this.filter.levels);
    for (const kind of [...this.kinds.keys()].sort((a, b) => a - b)) {
      const swatch = element("span", "swatch");
      swatch.style.background = kindColour(kind);
      this.chip(into, this.kinds.get(kind), swatch, this.filter.levels, kind);
    }
    this.showChips();
  }

  stateChips() {
    const into = document.getElementById("states");
    into.replaceChildren();
    this.chips = this.chips.filter(([, set]) => set !== this.filter.states);
    for (const [id, name, , values] of STATES) {
      if ((id === "window" && !this.hasWindows) || (id === "conventional" && !this.hasConventional)) continue;
      this.chip(into, name, sampleCell(values), this.filter.states, id);
    }
    this.showChips();
  }

  clearFilters() {
    this.filter.levels.clear();
    this.filter.states.clear();
    this.filter.least = 0;
    const least = document.getElementById("least");
    least.value = 0;
    least.dispatchEvent(new Event("input"));
  }

  // The page is used from files, too, where browsers may refuse to keep anything.
  kept(name) { try { return localStorage.getItem("terrace-" + name); } catch { return null; } }

  keep(name, value) { try { localStorage.setItem("terrace-" + name, value); } catch { /* not kept */ } }

  setTheme(name) {
    const isDark = name ? name === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    theme = isDark ? THEMES.dark : THEMES.light;
    document.getElementById("theme").textContent = isDark ? "☀" : "☾";
    document.getElementById("theme").title = (isDark ? "Light" : "Dark") + " (t)";
    this.stateChips();
    this.levelChips();
    for (const view of this.views) view.panels.spoken = -1;
    this.layout();
  }

  turnTheme() {
    const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    this.keep("theme", name);
    this.setTheme(name);
  }

  status(text, isGood) {
    const status = document.getElementById("status");
    if (status.textContent !== text) status.textContent = text;
    document.getElementById("dot").className = isGood ? "good" : "bad";
  }

  say(text) { document.getElementById("spoken").textContent = text; }

  help() {
    const keys = [["space", this.isLive ? "hold the picture, or go on" : "play or pause"]];
    if (!this.isLive) keys.push([", .", "one frame back, one on"], ["+ −", "faster, slower"], ["Home", "to the begin"]);
    keys.push(["0 – 6", "only zones of this level; again: all"], ["e o f", "only empty, open, full zones"],
      ["w", "only zones of a compaction window"], ["a", "all zones"], ["z", "to the zones; then arrows, Home, End"],
      ["t", "dark or light"], ["Esc", "leave"], ["?", "these keys"]);
    const list = document.getElementById("keys-list");
    list.replaceChildren(...keys.flatMap(([key, text]) => [element("dt", "", ...key.split(" ").flatMap((k, i) =>
      [i ? " " : "", element("kbd", "", k)])), element("dd", "", text)]));
    document.getElementById("keys").showModal();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isField = ["SELECT", "INPUT"].includes(event.target.tagName);
    const { key } = event;
    if (key === "Escape") { document.activeElement.blur(); return; }
    if (document.getElementById("keys").open) return;
    const states = { e: "empty", o: "open", f: "full", w: "window" };
    const turn = this.player || this.follower;
    if (key === "?") this.help();
    else if (key === " " && !isField && event.target.tagName !== "BUTTON") turn.toggle();
    else if (key === "t") this.turnTheme();
    else if (key === "a") this.clearFilters();
    else if (key === "z") this.views[0].map.canvas.focus();
    else if (states[key]) this.toggle(this.filter.states, states[key]);
    else if (/^[0-9]$/.test(key)) this.toggle(this.filter.levels, Number(key) - (this.views[0].store.shape.has_names ? 1 : 0));
    else if (this.player && !isField && this.player.key(key)) { /* done */ }
    else return;
    event.preventDefault();
  }
}

// A small cell for the legend, drawn as the map draws it.
function sampleCell(values) {
  const store = new StoreState();
  store.begin({ zones: 1, zone_capacity: 1, has_names: false });
  for (const [name, value] of Object.entries(values)) store[name][0] = value;
  const map = new ZoneMap(store, new Filter());
  map.layout(18, 24);
  map.draw(0);
  map.canvas.tabIndex = -1;
  map.canvas.className = "sample";
  map.canvas.setAttribute("aria-hidden", "true");
  map.canvas.style.width = "18px";
  return map.canvas;
}

// Asks the server for frames, and shows them as they come.
class Follower {
  constructor(page) {
    this.page = page;
    this.view = new SystemView(page, "", "", { bytes: 1, operations: 1 });
    page.add(this.view);
    this.isHeld = false;
    this.every = 500;
    const hold = document.getElementById("hold");
    hold.hidden = false;
    hold.addEventListener("click", () => this.toggle());
    this.show();
    this.ask();
  }

  toggle() { this.isHeld = !this.isHeld; this.show(); }

  show() {
    document.getElementById("hold").textContent = this.isHeld ? "Go on" : "Hold";
    document.getElementById("hold").title = "Hold or go on (space)";
    if (this.isHeld) this.page.status("held", false);
  }

  async ask() {
    if (!this.isHeld && !document.hidden) {
      try {
        await this.next();
      } catch {
        this.page.status("no answer; asking again", false);
      }
    }
    setTimeout(() => this.ask(), this.every);
  }

  async next() {
    const { store } = this.view, { frames } = this.page.setting;
    const answer = await fetch(store.number ? `${frames}?after=${store.number}` : frames, { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.status);
    const frame = await answer.json();
    const isOther = frame.shape && frame.shape.zones !== store.shape.zones;
    // A server that began anew has other numbers; the next answer is then whole.
    if (!store.apply(frame, performance.now())) { store.number = 0; return; }
    this.view.lanes.glow = 15;
    if (isOther || !this.isLaid) { this.isLaid = true; this.page.layout(); }
    this.view.lanesDue = true;
    this.page.status(`live, open for ${clockText(frame.gauges.seconds)}`, true);
    this.page.wake();
  }
}

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 10];

// Plays recordings next to each other, on one line of time.
class Player {
  constructor(page, recordings) {
    this.page = page;
    this.tracks = recordings.map((recording) => {
      const factors = { bytes: recording.bytes_factor, operations: recording.operations_factor };
      const view = new SystemView(page, recording.system, recording.caption, factors);
      page.add(view);
      return { recording, view, index: -1, strip: new Strip(recording.system) };
    });
    this.at = 0;
    this.speed = 1;
    this.isPlaying = false;
    document.getElementById("player").hidden = false;
    const strips = document.getElementById("strips");
    for (const { strip } of this.tracks) {
      strips.append(element("div", "strip-row", element("span", "strip-name", strip.name), strip.canvas));
    }
    this.cursor = element("div", "cursor");
    strips.append(this.cursor);
    this.controls();
    this.align("time");
    page.status("a recording", true);
  }

  controls() {
    const on = (id, name, call) => document.getElementById(id).addEventListener(name, call);
    document.getElementById("back").textContent = "‹";
    document.getElementById("on").textContent = "›";
    on("back", "click", () => this.step(-1));
    on("on", "click", () => this.step(1));
    on("play", "click", () => this.toggle());
    on("scrub", "input", (event) => { this.at = (event.target.value / 1000) * this.end; this.pause(); });
    on("align", "change", (event) => this.align(event.target.value));
    const speed = document.getElementById("speed");
    for (const by of SPEEDS) speed.append(new Option(`${by} ×`, by, by === 1, by === 1));
    speed.addEventListener("change", () => { this.speed = Number(speed.value); });
    document.getElementById("strips").addEventListener("pointerdown", (event) => {
      const box = document.getElementById("strips").getBoundingClientRect();
      this.at = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1) * this.end;
      this.pause();
    });
  }

  // The places of all frames, by time or by the bytes that were put.
  align(by) {
    const part = this.end ? this.at / this.end : 0;
    for (const track of this.tracks) {
      const { frames, bytes_factor: factor } = track.recording;
      track.places = frames.map(({ gauges }) => by === "time" ? gauges.seconds : gauges.totals.user_bytes * factor);
    }
    this.by = by;
    this.end = Math.max(...this.tracks.map(({ places }) => places[places.length - 1]), 1e-9);
    this.at = part * this.end;
    const seconds = Math.max(...this.tracks.map(({ recording: { frames } }) => frames[frames.length - 1].gauges.seconds));
    for (const { view } of this.tracks) view.lanes.glow = seconds / 200;
    this.drawStrips();
    this.page.wake();
  }

  toggle() { if (this.isPlaying) this.pause(); else this.play(); }

  play() {
    if (this.at >= this.end) this.at = 0;
    this.isPlaying = true;
    this.last = null;
    this.showPlay();
    this.page.wake();
  }

  pause() { this.isPlaying = false; this.showPlay(); this.page.wake(); }

  showPlay() {
    const play = document.getElementById("play");
    play.textContent = this.isPlaying ? "❚❚" : "▶";
    play.setAttribute("aria-label", this.isPlaying ? "Pause" : "Play");
  }

  // To the next or the previous frame of any track.
  step(by) {
    this.isPlaying = false;
    const places = this.tracks.flatMap((track) => track.places);
    const next = by > 0 ? Math.min(...places.filter((place) => place > this.at))
      : Math.max(...places.filter((place) => place < this.at));
    if (Number.isFinite(next)) this.at = next;
    this.showPlay();
    this.page.wake();
  }

  key(key) {
    if (key === "," || key === ".") this.step(key === "." ? 1 : -1);
    else if (key === "Home") { this.at = 0; this.page.wake(); }
    else if (key === "+" || key === "-") {
      const speed = document.getElementById("speed");
      speed.selectedIndex = Math.min(Math.max(speed.selectedIndex + (key === "+" ? 1 : -1), 0), SPEEDS.length - 1);
      this.speed = Number(speed.value);
    } else return false;
    return true;
  }

  // The whole takes a minute at speed 1.
  advance(now) {
    if (this.isPlaying && this.last !== null) {
      const passed = Math.min(now - this.last, 250);
      this.at += (passed / 60000) * this.speed * this.end;
      if (this.at >= this.end) { this.at = this.end; this.isPlaying = false; this.showPlay(); }
    }
    this.last = now;
    for (const track of this.tracks) this.seek(track, now);
    this.showTime();
  }

  seek(track, now) {
    const { frames } = track.recording;
    let to = track.index;
    while (to + 1 < frames.length && track.places[to + 1] <= this.at) to++;
    while (to > 0 && track.places[to] > this.at) to--;
    to = Math.max(to, 0);
    if (to === track.index) return;
    const isJump = to < track.index || to > track.index + 60;
    if (to < track.index) track.index = -1;
    const wasEmpty = track.view.store.shape.zones === 0;
    while (track.index < to) {
      // A jump shows no zone as freshly reset.
      track.view.store.apply(frames[++track.index], isJump ? -1e9 : now);
    }
    track.view.lanesDue = true;
    if (wasEmpty) this.page.layout();
  }

  showTime() {
    const part = this.at / this.end;
    document.getElementById("scrub").value = Math.round(part * 1000);
    this.cursor.style.left = part * 100 + "%";
    const text = this.by === "time" ? clockText : bytesText;
    const clock = `${text(this.at)} of ${text(this.end)}`;
    const output = document.getElementById("clock");
    if (output.textContent !== clock) output.textContent = clock;
    document.getElementById("scrub").setAttribute("aria-valuetext", clock);
    for (const { view, places } of this.tracks) {
      view.element.classList.toggle("ended", this.at >= places[places.length - 1] && this.at < this.end);
    }
  }

  // Bytes written by cause, over about a hundredth of the run.
  drawStrips() {
    let most = 0;
    const all = this.tracks.map(({ recording: { frames, bytes_factor: factor }, places }) => {
      const back = Math.max(Math.round(frames.length / 120), 1);
      return frames.map(({ gauges }, i) => {
        const rates = StoreState.rates(gauges, frames[Math.max(i - back, 0)].gauges);
        const written = rates ? rates.written.map((rate) => rate * factor) : [];
        most = Math.max(most, sum(written));
        return [places[i] / this.end, written];
      });
    });
    const { causes } = this.page.setting.names;
    this.tracks.forEach(({ strip }, i) => strip.draw(all[i], most * 1.05, causes));
  }
}

async function recordings() {
  const text = document.getElementById("data").textContent;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

document.addEventListener("DOMContentLoaded", async () => {
  const page = new Page(JSON.parse(document.getElementById("setting").textContent));
  window.terracePage = page;
  if (page.isLive) { page.follower = new Follower(page); return; }
  page.player = new Player(page, await recordings());
  page.player.showPlay();
  page.layout();
  if (!isStill.matches) page.player.play();
});
