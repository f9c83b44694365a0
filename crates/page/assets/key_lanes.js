// `KeyLanes`: the tree over its keys. A lane to each level, newest on top; a lane has a row for
// each sorted run. Tables that were written lately glow, so that a merge is seen where it works. A
// wedge is the pointer at which a level goes on; a bar under a lane marks tables of its window.

const RUN_ROWS = 8, GLOW_STEPS = 10, LABEL = 30;

class KeyLanes {
  constructor(store) {
    this.store = store;
    this.canvas = element("canvas", "lanes");
    this.canvas.setAttribute("role", "img");
    this.ctx = this.canvas.getContext("2d", { alpha: false });
    this.glow = 20;
    this.levels = [];
    this.rowsOf = new Map();
    this.width = 0;
  }

  // Rows of runs and height of the lanes; lanes only grow, so that the page does not jump.
  layout(width) {
    this.width = Math.max(Math.floor(width), 80);
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.isLaid = false;
  }

  draw() {
    const { store, ctx } = this;
    const runs = new Map();
    for (const table of store.tables.values()) {
      if (!runs.has(table.level)) runs.set(table.level, new Map());
      const of = runs.get(table.level);
      if (!of.has(table.run)) of.set(table.run, []);
      of.get(table.run).push(table);
    }
    this.size(runs);
    ctx.fillStyle = theme.page;
    ctx.fillRect(0, 0, this.width, this.height);
    let y = 6;
    for (const level of this.levels) {
      const rows = this.rowsOf.get(level), h = this.rowHeight(rows);
      this.lane(level, runs.get(level) || new Map(), y, rows, h);
      y += rows * h + 12;
    }
  }

  rowHeight(rows) { return rows > 4 ? 4 : rows > 2 ? 5 : rows > 1 ? 7 : 13; }

  size(runs) {
    let changed = !this.isLaid;
    for (const [level, of] of runs) {
      const rows = Math.min(of.size, RUN_ROWS);
      if ((this.rowsOf.get(level) || 0) < rows) { this.rowsOf.set(level, rows); changed = true; }
    }
    if (!changed) return;
    this.levels = [...this.rowsOf.keys()].sort((a, b) => a - b);
    const heights = this.levels.map((level) => {
      const rows = this.rowsOf.get(level);
      return rows * this.rowHeight(rows) + 12;
    });
    this.height = Math.max(sum(heights) + 6, 24);
    this.canvas.width = this.width * this.ratio;
    this.canvas.height = this.height * this.ratio;
    this.canvas.style.height = this.height + "px";
    this.ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.isLaid = true;
  }

  lane(level, runs, y, rows, h) {
    const { ctx, store } = this;
    const width = this.width - LABEL;
    ctx.fillStyle = theme.lane;
    ctx.fillRect(LABEL, y, width, rows * h);
    const order = [...runs.keys()].sort((a, b) => b - a);
    const x = (place) => (place / 65535) * width;
    const windows = new Uint8Array(width + 1);
    const columns = Array.from({ length: rows }, () => new Float64Array(width + 1).fill(-1));
    order.forEach((run, i) => {
      const column = columns[Math.min(i, rows - 1)];
      for (const table of runs.get(run)) {
        const from = Math.floor(x(table.from)), to = Math.max(Math.ceil(x(table.to)), from + 1);
        const inWindow = table.zone !== NONE && store.window[table.zone] === level;
        for (let at = from; at < to && at <= width; at++) {
          if (table.born > column[at]) column[at] = table.born;
          if (inWindow) windows[at] = 1;
        }
      }
    });
    columns.forEach((column, row) => this.row(column, level, y + row * h, h));
    ctx.fillStyle = theme.ink;
    this.stretches(windows, (from, to) => ctx.fillRect(LABEL + from, y + rows * h + 2, to - from, 2));
    ctx.fillStyle = kindColour(level);
    ctx.font = "600 11px ui-monospace, monospace";
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.fillText((store.shape.has_names ? "T" : "L") + level, 2, y + (rows * h) / 2);
    for (const [of, place] of store.pointers) if (of === level) this.wedge(LABEL + x(place), y, rows * h);
  }

  row(column, level, y, h) {
    const { ctx, store } = this;
    const now = store.gauges ? store.gauges.seconds : 0;
    const base = between(theme.lane, kindColour(level), 0.62);
    const step = column.map((born) => {
      if (born < 0) return -1;
      return Math.round(GLOW_STEPS * Math.exp(-(now - born) / this.glow));
    });
    this.stretches(step, (from, to, value) => {
      if (value < 0) return;
      ctx.fillStyle = between(base, theme.glow, (value / GLOW_STEPS) * 0.9);
      ctx.fillRect(LABEL + from, y, to - from, h - 1);
    }, true);
  }

  // Calls for each stretch of equal values; zeros are left out unless `all`.
  stretches(values, call, all = false) {
    let from = 0;
    for (let at = 1; at <= values.length; at++) {
      if (at < values.length && values[at] === values[from]) continue;
      if (all || values[from]) call(from, at, values[from]);
      from = at;
    }
  }

  wedge(x, y, h) {
    const { ctx } = this;
    ctx.fillStyle = theme.ink;
    ctx.fillRect(x - 0.75, y - 3, 1.5, h + 5);
    ctx.beginPath();
    ctx.moveTo(x - 5, y - 6);
    ctx.lineTo(x + 5, y - 6);
    ctx.lineTo(x, y + 1);
    ctx.fill();
  }
}
