// `SystemView`: one store on the page: its map, lanes and panels, and the tip that tells of a zone.

class SystemView {
  constructor(page, heading, caption, factors) {
    this.page = page;
    this.store = new StoreState();
    this.map = new ZoneMap(this.store, page.filter);
    this.lanes = new KeyLanes(this.store);
    this.panels = new Panels(page.setting.names, factors, page.isLive);
    this.factors = factors;
    const text = element("p", "caption", caption);
    this.note = element("p", "note");
    this.mapBox = element("div", "map-box", this.map.canvas);
    const lanes = element("figure", "lanes-box", this.lanes.canvas,
      element("figcaption", "", "The keys from the first to the last, level by level. What was just written glows."));
    this.picture = element("div", "picture", this.mapBox, this.note, lanes);
    const head = element("h2", "", heading);
    if (!heading) head.hidden = true;
    this.element = element("article", "system", element("div", "head", head, text, this.panels.figures),
      this.picture, this.panels.element);
    this.element.setAttribute("aria-label", heading || page.setting.title);
    this.listen();
  }

  listen() {
    const { canvas } = this.map;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return this.map.at(event.clientX - box.left, event.clientY - box.top);
    };
    canvas.addEventListener("pointermove", (event) => this.look(place(event)));
    canvas.addEventListener("pointerdown", (event) => this.look(place(event)));
    canvas.addEventListener("pointerleave", () => { if (document.activeElement !== canvas) this.look(-1); });
    canvas.addEventListener("focus", () => { if (this.map.focus < 0 && this.store.shape.zones) this.look(0, true); });
    canvas.addEventListener("blur", () => this.look(-1));
    canvas.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.map.columns,
        ArrowDown: this.map.columns }[event.key];
      const last = this.store.shape.zones - 1;
      const to = event.key === "Home" ? 0 : event.key === "End" ? last : this.map.focus + (by || 0);
      if (to === this.map.focus && by === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.look(Math.min(Math.max(to, 0), last), true);
    });
  }

  // Shows the tip of a zone.
  look(zone, isKey = false) {
    this.map.setFocus(zone);
    this.page.wake();
    if (zone < 0) { this.page.tip.hide(this); return; }
    const box = this.map.canvas.getBoundingClientRect(), [x, y] = this.map.middle(zone);
    this.page.tip.show(this, box.left + x, box.top + y, this.map.size);
    if (isKey) this.page.say(this.words(zone));
  }

  words(zone) {
    const { store } = this, { states, uses } = this.page.setting.names;
    const kinds = store.kinds(zone).map(([kind, share]) =>
      `${kindName(kind, store.shape.has_names)} ${shareText(share / 1000)}`);
    return `Zone ${zone}, ${states[store.state[zone]]}, ${uses[store.used[zone]]}, written ` +
      `${shareText(store.written[zone] / 1000)}, live ${shareText(store.liveShare(zone) / 1000)}` +
      (kinds.length ? `: ${kinds.join(", ")}` : "");
  }

  layout(most) {
    const width = this.mapBox.clientWidth;
    if (!width) return;
    this.map.layout(width, most);
    this.lanes.layout(width);
    const { shape } = this.store;
    const each = bytesText(shape.zone_capacity * this.factors.bytes);
    this.map.canvas.setAttribute("aria-label",
      `${shape.zones} zones of ${each}. Arrows move from zone to zone.`);
    this.note.textContent = shape.zones ? `${shape.zones.toLocaleString("en")} zones of ${each}` :
      "This store has no zones: the host's file system places its files.";
    this.lanesDue = true;
  }

  draw(now) {
    const drawn = this.map.draw(now);
    if (this.lanesDue && this.store.gauges) {
      this.lanes.draw();
      this.panels.show(this.store);
      this.lanes.canvas.setAttribute("aria-label", `${this.store.tables.size} tables over the keys`);
      this.page.tip.refresh(this);
      this.lanesDue = false;
    }
    return drawn;
  }

  get isMoving() { return this.map.flashing.size > 0; }
}

// The tip of a zone: its state in numbers, and its tables.
class Tip {
  constructor(page) {
    this.page = page;
    this.element = document.getElementById("tip");
    this.of = null;
  }

  show(view, x, y, size) {
    this.of = view;
    this.fill(view, view.map.focus);
    this.element.hidden = false;
    const { offsetWidth: w, offsetHeight: h } = this.element;
    const left = Math.min(Math.max(x + size / 2 + 10, 8), innerWidth - w - 8);
    const isRoom = x + size / 2 + 10 + w < innerWidth - 8;
    this.element.style.left = (isRoom ? left : Math.max(x - size / 2 - 10 - w, 8)) + "px";
    this.element.style.top = Math.min(Math.max(y - 20, 8), Math.max(innerHeight - h - 8, 8)) + "px";
  }

  hide(view) { if (this.of === view) { this.of = null; this.element.hidden = true; } }

  refresh(view) { if (this.of === view && view.map.focus >= 0) this.fill(view, view.map.focus); }

  fill(view, zone) {
    const { store, factors } = view, { names } = this.page.setting;
    const whole = store.shape.zone_capacity * factors.bytes;
    const share = (thousandths) => `${shareText(thousandths / 1000)}  ·  ${bytesText(whole * thousandths / 1000)}`;
    const facts = [["state", names.states[store.state[zone]]], ["used for", names.uses[store.used[zone]]]];
    facts.push(["written", share(store.written[zone])]);
    for (const [kind, of] of store.kinds(zone)) facts.push([kindName(kind, store.shape.has_names), share(of), kindColour(kind)]);
    if (store.dead[zone]) facts.push(["dead", share(store.dead[zone])]);
    if (store.pinned[zone]) facts.push(["held by readers", share(store.pinned[zone])]);
    if (store.window[zone] !== NONE) facts.push(["window", `of level ${store.window[zone]}`]);
    const list = element("dl", "facts");
    for (const [name, text, colour] of facts) {
      const term = element("dt", "", name);
      if (colour) { const dot = element("span", "dot"); dot.style.background = colour; term.prepend(dot); }
      list.append(term, element("dd", "", text));
    }
    this.element.replaceChildren(element("h4", "", `Zone ${zone.toLocaleString("en")}`), list, ...this.tables(view, zone));
  }

  tables(view, zone) {
    const { store, factors } = view;
    const tables = store.tablesOf(zone);
    if (store.leftOut) return [element("p", "more", `${store.leftOut.toLocaleString("en")} tables are too many to list`)];
    if (!tables.length) return [];
    const place = (at) => ((at / 65535) * 100).toFixed(1);
    const rows = new Rows(["table", "level", "keys", "here"], "Tables of the zone");
    rows.show(tables.slice(0, 10).map(([table, blocks]) => [
      String(Math.floor(table.key / 8)), String(table.level),
      table.first !== null ? `${table.first} – ${table.last}` : `${place(table.from)}–${place(table.to)}\u00a0%`,
      bytesText(blocks * BLOCK * factors.bytes)]));
    const more = tables.length > 10 ? [element("p", "more", `and ${tables.length - 10} more`)] : [];
    return [rows.table, ...more];
  }
}
