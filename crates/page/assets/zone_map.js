// `ZoneMap`: the zones on a canvas, a cell to each. Only cells that have changed are drawn.
//
// A cell is a tank. Its live bytes stand at the bottom in the colours of their levels, dead bytes
// lie on them, and a line is the write pointer. The state is told by form: an open zone has a bold
// frame and a notch at its pointer, a conventional one a cut corner, a reserved one bars and a
// letter, a zone that failed a cross. Brackets mark a compaction window.

const FLASH_MS = 700;
const isStill = matchMedia("(prefers-reduced-motion: reduce)");

class ZoneMap {
  constructor(store, filter) {
    this.store = store;
    this.filter = filter;
    this.canvas = element("canvas", "map");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.ctx = this.canvas.getContext("2d", { alpha: false });
    this.focus = -1;
    this.flashing = new Set();
    this.most = 320;
    this.drawn = 0;
  }

  // Chooses the largest cells that fit.
  layout(width, most) {
    const n = this.store.shape.zones;
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.width = Math.max(Math.floor(width), 10);
    const fits = (size) => {
      const columns = Math.floor(this.width / size);
      return columns > 0 && Math.ceil(n / columns) * this.pitch(size) <= most;
    };
    let size = 34;
    while (size > 2 && !fits(size)) size--;
    // Smaller cells are hard to read; rather scroll a little.
    if (size < 4 && Math.ceil(n / Math.floor(this.width / 4)) * 4 <= most * 2.2) size = 4;
    this.size = size;
    this.columns = Math.max(Math.floor(this.width / size), 1);
    this.rows = Math.max(Math.ceil(n / this.columns), 1);
    this.gap = size >= 12 ? 3 : size >= 8 ? 2 : size >= 4 ? 1 : 0;
    this.height = this.rows * this.pitch(size);
    const [w, h] = [this.width * this.ratio, this.height * this.ratio];
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
      this.canvas.style.height = this.height + "px";
    }
    this.ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.hatch = this.pattern();
    this.store.isAllDirty = true;
  }

  pitch(size) { return size >= 10 ? Math.round(size * 1.15) : size; }

  // Slanted lines for dead bytes.
  pattern() {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const ctx = tile.getContext("2d");
    ctx.fillStyle = between(theme.cell, theme.dead, 0.55);
    ctx.fillRect(0, 0, 6, 6);
    ctx.strokeStyle = between(theme.dead, theme.mute, 0.25);
    ctx.lineWidth = 1.2;
    for (const x of [-6, 0, 6]) { ctx.moveTo(x, 6); ctx.lineTo(x + 6, 0); }
    ctx.stroke();
    return this.ctx.createPattern(tile, "repeat");
  }

  // Draws the cells that have changed; returns their number.
  draw(now) {
    const { store, ctx } = this;
    const flashes = !isStill.matches;
    if (store.isAllDirty) {
      ctx.globalAlpha = 1;
      ctx.fillStyle = theme.page;
      ctx.fillRect(0, 0, this.width, this.height);
      for (let zone = 0; zone < store.shape.zones; zone++) this.cell(zone, now);
      this.drawn = store.shape.zones;
    } else {
      for (const zone of this.flashing) store.dirty.add(zone);
      for (const zone of store.dirty) this.cell(zone, now);
      this.drawn = store.dirty.size;
    }
    this.flashing.clear();
    if (flashes) {
      const zones = store.isAllDirty ? store.fresh.keys() : store.dirty;
      for (const zone of zones) if (now - store.fresh[zone] < FLASH_MS) this.flashing.add(zone);
    }
    store.isAllDirty = false;
    store.dirty.clear();
    return this.drawn;
  }

  cell(zone, now) {
    const { store, ctx, size, gap } = this;
    const pitch = this.pitch(size);
    const x = (zone % this.columns) * size, y = Math.floor(zone / this.columns) * pitch;
    const w = size - gap, h = pitch - gap;
    ctx.globalAlpha = 1;
    ctx.fillStyle = theme.page;
    ctx.fillRect(x, y, size, pitch);
    const passes = this.filter.passes(store, zone);
    ctx.globalAlpha = passes ? 1 : 0.13;
    if (size >= 9) this.tank(zone, x, y, w, h); else this.dot(zone, x, y, w, h);
    const age = now - store.fresh[zone];
    if (age < FLASH_MS && !isStill.matches && passes) {
      ctx.globalAlpha = 0.7 * (1 - age / FLASH_MS);
      ctx.fillStyle = theme.flash;
      ctx.fillRect(x, y, w, h);
    }
    ctx.globalAlpha = 1;
    if (zone === this.focus) {
      ctx.strokeStyle = theme.focus;
      ctx.lineWidth = 2;
      const by = size >= 9 ? 0 : 1;
      ctx.strokeRect(x + 1 - by, y + 1 - by, w - 2 + 2 * by, h - 2 + 2 * by);
    }
  }

  // Fills the shares of a zone from the bottom up; returns the height of the write pointer.
  fill(zone, x, y, w, h, dead) {
    const { store, ctx } = this;
    let top = y + h;
    const stack = (share, style) => {
      const height = share > 0 ? Math.max((share / 1000) * h, 1) : 0;
      const from = Math.max(top - height, y);
      ctx.fillStyle = style;
      ctx.fillRect(x, from, w, top - from);
      top = from;
    };
    for (const [kind, share] of store.kinds(zone)) stack(share, kindColour(kind));
    if (store.pinned[zone]) stack(store.pinned[zone], theme.mute);
    const pointer = y + h - (store.written[zone] / 1000) * h;
    if (top > pointer) {
      ctx.fillStyle = dead;
      ctx.fillRect(x, pointer, w, top - pointer);
    }
    return pointer;
  }

  tank(zone, x, y, w, h) {
    const { store, ctx } = this;
    const state = store.state[zone], used = store.used[zone];
    ctx.fillStyle = theme.cell;
    ctx.fillRect(x, y, w, h);
    const pointer = this.fill(zone, x, y, w, h, this.hatch);
    if (used === 3 || used === 4) this.reserved(zone, x, y, w, h);
    if (state === 0) this.frame(x, y, w, h, theme.edge, 1);
    if (state === 1 || state === 2) {
      ctx.fillStyle = theme.ink;
      const line = state === 1 ? 2 : 1;
      ctx.fillRect(x, Math.max(pointer - line / 2, y), w, line);
    }
    if (state === 1) {
      this.frame(x, y, w, h, theme.open, 1.5);
      const notch = Math.max(w * 0.22, 3), at = Math.min(Math.max(pointer, y + notch), y + h - notch);
      this.shape([[x + w, at - notch], [x + w, at + notch], [x + w - notch, at]], theme.open);
    }
    if (state === 6) {
      const cut = w * 0.36;
      this.shape([[x + w - cut, y - 1], [x + w + 1, y - 1], [x + w + 1, y + cut]], theme.page);
    }
    if (state === 4 || state === 5 || used === 6) this.cross(x, y, w, h, state === 5);
    if (used === 5) this.frame(x, y, w, h, theme.edge, 1, [2, 2]);
    if (store.window[zone] !== NONE) this.brackets(x, y, w, h);
    if (w >= 17 && used !== 3 && used !== 4 && store.live[zone] >= 300) this.letter(zone, x, y, w, h);
  }

  dot(zone, x, y, w, h) {
    const { store, ctx } = this;
    ctx.fillStyle = theme.cell;
    ctx.fillRect(x, y, w, h);
    const state = store.state[zone], used = store.used[zone];
    if (used === 3 || used === 4) {
      ctx.fillStyle = theme.reserved;
      ctx.fillRect(x, y, w, h);
    } else if (state === 4 || state === 5) {
      ctx.fillStyle = theme.bad;
      ctx.fillRect(x, y + Math.floor(h / 2), w, 1);
      ctx.fillRect(x + Math.floor(w / 2), y, 1, h);
    } else {
      this.fill(zone, x, y, w, h, theme.dead);
    }
    if (state === 1 && h >= 3) { ctx.fillStyle = theme.open; ctx.fillRect(x, y, w, 1); }
    if (store.window[zone] !== NONE) { ctx.fillStyle = theme.window; ctx.fillRect(x, y, 1, h); }
  }

  frame(x, y, w, h, style, line, dash = []) {
    const { ctx } = this;
    ctx.strokeStyle = style;
    ctx.lineWidth = line;
    ctx.setLineDash(dash);
    ctx.strokeRect(x + line / 2, y + line / 2, w - line, h - line);
    ctx.setLineDash([]);
  }

  shape(points, style) {
    const { ctx } = this;
    ctx.fillStyle = style;
    ctx.beginPath();
    points.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
    ctx.fill();
  }

  reserved(zone, x, y, w, h) {
    const { ctx, store } = this;
    ctx.fillStyle = theme.reserved;
    for (let at = y + 1; at < y + h; at += 4) ctx.fillRect(x, at, w, 1.5);
    if (w < 11) return;
    ctx.fillStyle = theme.cell;
    ctx.fillRect(x + w / 2 - 5, y + h / 2 - 6, 10, 12);
    this.text(store.used[zone] === 3 ? "J" : "S", x + w / 2, y + h / 2, theme.ink);
  }

  cross(x, y, w, h, both) {
    const { ctx } = this;
    ctx.strokeStyle = theme.bad;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.moveTo(x + 2, y + h - 2);
    ctx.lineTo(x + w - 2, y + 2);
    if (both) { ctx.moveTo(x + 2, y + 2); ctx.lineTo(x + w - 2, y + h - 2); }
    ctx.stroke();
  }

  brackets(x, y, w, h) {
    const { ctx } = this;
    const arm = Math.max(w * 0.3, 3);
    ctx.strokeStyle = theme.window;
    ctx.lineWidth = 2;
    ctx.beginPath();
    for (const [cx, dx] of [[x + 1, 1], [x + w - 1, -1]]) {
      for (const [cy, dy] of [[y + 1, 1], [y + h - 1, -1]]) {
        ctx.moveTo(cx + dx * arm, cy);
        ctx.lineTo(cx, cy);
        ctx.lineTo(cx, cy + dy * arm);
      }
    }
    ctx.stroke();
  }

  letter(zone, x, y, w, h) {
    const letter = kindLetter(this.store.kind[zone], this.store.shape.has_names);
    this.text(letter, x + w / 2, y + h - 7, theme.onLevel);
  }

  text(text, x, y, style) {
    const { ctx } = this;
    ctx.fillStyle = style;
    ctx.font = "600 9px ui-monospace, monospace";
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillText(text, x, y);
  }

  // The zone at a place of the canvas; -1 where there is none.
  at(x, y) {
    const column = Math.floor(x / this.size), row = Math.floor(y / this.pitch(this.size));
    const zone = row * this.columns + column;
    const isOne = column >= 0 && column < this.columns && row >= 0;
    return isOne && zone < this.store.shape.zones ? zone : -1;
  }

  // The middle of a zone's cell, from the canvas's corner.
  middle(zone) {
    const pitch = this.pitch(this.size);
    return [(zone % this.columns + 0.5) * this.size, (Math.floor(zone / this.columns) + 0.5) * pitch];
  }

  setFocus(zone) {
    if (zone === this.focus) return;
    for (const at of [this.focus, zone]) if (at >= 0) this.store.dirty.add(at);
    // The frame of a small cell reaches into its neighbours.
    if (this.size < 9) this.store.isAllDirty = true;
    this.focus = zone;
  }
}
