// `StoreState`: a store as the frames so far tell it. Frames are applied in their order; the zones
// that a frame changes are collected in `dirty` until the map has drawn them.

const NONE = -1, LOG = 64, OTHER = 65, BLOCK = 4096;

class StoreState {
  constructor() { this.begin({ zones: 0, zone_capacity: 0, has_names: false }); }

  begin(shape) {
    const n = shape.zones;
    this.shape = shape;
    this.state = new Uint8Array(n);
    this.used = new Uint8Array(n);
    this.written = new Uint16Array(n);
    this.dead = new Uint16Array(n);
    this.pinned = new Uint16Array(n);
    this.kind = new Int8Array(n).fill(NONE);
    this.live = new Uint16Array(n);
    this.more = new Map();
    this.window = new Int8Array(n).fill(NONE);
    this.windowed = [];
    this.fresh = new Float64Array(n).fill(-1e9);
    this.tables = new Map();
    this.byZone = null;
    this.pointers = [];
    this.gauges = null;
    this.before = null;
    this.number = 0;
    this.dirty = new Set();
    this.isAllDirty = true;
    this.leftOut = 0;
  }

  // Whether the frame could be applied: a change needs the frame that it is a change of.
  apply(frame, now) {
    if (frame.after === undefined || frame.after === null) this.begin(frame.shape);
    else if (frame.after !== this.number) return false;
    this.applyZones(frame.zones, now);
    this.applyTables(frame.tables, frame.gauges.seconds);
    this.applyWindows(frame.windows || []);
    this.pointers = frame.pointers || [];
    this.leftOut = frame.tables_left_out || 0;
    if (frame.number !== this.number) this.before = this.gauges;
    this.gauges = frame.gauges;
    this.number = frame.number;
    return true;
  }

  applyZones(zones, now) {
    const numbers = [];
    let at = 0;
    for (let i = 0; i < zones.gap.length; i++) {
      at += zones.gap[i];
      numbers.push(at);
      if (this.written[at] > zones.written[i]) this.fresh[at] = now;
      this.state[at] = zones.state[i];
      this.used[at] = zones.used[i];
      this.written[at] = zones.written[i];
      this.dead[at] = zones.dead[i];
      this.kind[at] = zones.kind[i];
      this.live[at] = zones.live[i];
      this.pinned[at] = 0;
      this.more.delete(at);
      this.dirty.add(at);
    }
    for (const [i, kind, share] of zones.more || []) {
      const zone = numbers[i];
      if (!this.more.has(zone)) this.more.set(zone, []);
      this.more.get(zone).push([kind, share]);
    }
    for (const [i, share] of zones.pinned || []) this.pinned[numbers[i]] = share;
  }

  applyTables(tables, seconds) {
    let key = 0;
    for (const gap of tables.gone || []) this.tables.delete(key += gap);
    key = 0;
    for (let i = 0; i < tables.gap.length; i++) {
      key += tables.gap[i];
      const old = this.tables.get(key);
      const level = tables.level[i];
      this.tables.set(key, {
        level, run: tables.run[i], from: tables.from[i], to: tables.from[i] + tables.span[i],
        blocks: tables.blocks[i], zone: tables.zone[i], more: [],
        first: tables.first ? tables.first[i] : null, last: tables.last ? tables.last[i] : null,
        born: old && old.level === level ? old.born : seconds, key,
      });
    }
    if (tables.more && tables.more.length) {
      const keys = [];
      key = 0;
      for (const gap of tables.gap) keys.push(key += gap);
      for (const [i, zone, blocks] of tables.more) {
        this.tables.get(keys[i]).more.push([zone, blocks]);
      }
    }
    if (tables.gap.length || (tables.gone && tables.gone.length)) this.byZone = null;
  }

  applyWindows(windows) {
    const before = this.windowed;
    this.windowed = windows.map(([, zone]) => zone);
    for (const zone of before) this.window[zone] = NONE;
    for (const [level, zone] of windows) this.window[zone] = level;
    for (const zone of [...before, ...this.windowed]) this.dirty.add(zone);
  }

  // The live share of a zone, in thousandths.
  liveShare(zone) {
    let sum = this.live[zone];
    for (const [, share] of this.more.get(zone) || []) sum += share;
    return Math.min(sum, 1000);
  }

  // Kinds and shares of live bytes of a zone, the largest first.
  kinds(zone) {
    if (this.kind[zone] === NONE) return [];
    return [[this.kind[zone], this.live[zone]], ...(this.more.get(zone) || [])];
  }

  // Tables of a zone, with their blocks in it; the largest first.
  tablesOf(zone) {
    if (!this.byZone) {
      this.byZone = new Map();
      const add = (at, table, blocks) => {
        if (!this.byZone.has(at)) this.byZone.set(at, []);
        this.byZone.get(at).push([table, blocks]);
      };
      for (const table of this.tables.values()) {
        let rest = table.blocks;
        for (const [at, blocks] of table.more) { add(at, table, blocks); rest -= blocks; }
        if (table.zone !== NONE) add(table.zone, table, Math.max(rest, 1));
      }
      for (const list of this.byZone.values()) list.sort((a, b) => b[1] - a[1]);
    }
    return this.byZone.get(zone) || [];
  }

  // Differences of totals since an earlier frame's gauges, a second.
  static rates(now, before) {
    const seconds = before ? now.seconds - before.seconds : 0;
    if (!(seconds > 0)) return null;
    const a = now.totals, b = before.totals;
    const per = (x, y) => Math.max(x - y, 0) / seconds;
    const each = (x, y) => x.map((value, i) => per(value, y[i] || 0));
    const waits = {};
    for (const [name, nanos] of Object.entries(now.waits || {})) {
      const share = (nanos - ((before.waits || {})[name] || 0)) / 1e9 / seconds;
      if (share > 0) waits[name] = share;
    }
    return {
      seconds, puts: per(a.puts, b.puts), gets: per(a.gets, b.gets), scans: per(a.scans, b.scans),
      user: per(a.user_bytes, b.user_bytes), written: each(a.written, b.written),
      read: each(a.read, b.read), resets: per(a.resets, b.resets), waits,
    };
  }
}

const sum = (list) => list.reduce((all, one) => all + one, 0);

// Bytes written for a byte of keys and values, by group of causes.
function amplification(written, user, causes) {
  const of = (...names) => user > 0
    ? sum(names.map((name) => written[causes.indexOf(name)] || 0)) / user : 0;
  return {
    log: of("log"), flush: of("flush"), merge: of("compaction"), reclaim: of("reclaim"),
    metadata: of("journal", "superblock"), total: user > 0 ? sum(written) / user : 0,
  };
}
