// Panels of numbers next to a map: figures, levels, jobs, rates, latencies, waits. Each builds its
// elements once, and changes their texts.

function panel(title, ...children) {
  return element("section", "panel", element("h3", "", title), ...children);
}

// A table whose rows are made as they are needed.
class Rows {
  constructor(heads, label) {
    this.body = element("tbody");
    const head = element("tr", "", ...heads.map((text) => {
      const cell = element("th", "", text);
      cell.scope = "col";
      return cell;
    }));
    this.table = element("table", "", element("thead", "", head), this.body);
    this.table.setAttribute("aria-label", label);
    this.columns = heads.length;
  }

  // `rows`: lists of texts or elements.
  show(rows) {
    while (this.body.rows.length > rows.length) this.body.deleteRow(-1);
    rows.forEach((texts, i) => {
      const row = this.body.rows[i] || this.body.insertRow();
      texts.forEach((text, j) => {
        const cell = row.cells[j] || row.insertCell();
        if (typeof text === "string") {
          if (cell.textContent !== text || cell.firstElementChild) cell.textContent = text;
        } else if (cell.firstChild !== text) {
          cell.replaceChildren(text);
        }
      });
    });
  }
}

function bar(share, colour) {
  const fill = element("i");
  fill.style.width = Math.min(Math.max(share, 0), 1) * 100 + "%";
  fill.style.background = colour;
  return element("span", "bar", fill);
}

class Panels {
  constructor(names, factors, isLive) {
    Object.assign(this, { names, factors, isLive });
    this.figures = element("dl", "figures");
    this.values = {};
    const figures = [["puts", "puts a second"], ["written", "written for a byte"],
      ["zones", "zones in use"], ["valid", "valid in these"]];
    for (const [key, name] of figures) {
      this.values[key] = element("dd", key, "–");
      this.figures.append(element("div", "", element("dt", "", name), this.values[key]));
    }
    this.levels = new Rows(["level", "runs", "tables", "bytes", ""], "Levels");
    this.jobs = element("ul", "jobs");
    this.rates = new Rows(["", "a second", "", "50 %", "99 %"], "Rates and latencies");
    this.waits = new Rows(["share", "waits for"], "Waits");
    this.bytes = new Rows(["cause", "now", "since the begin"], "Bytes written for a byte");
    this.sparks = {};
    this.history = [];
    this.element = element("div", "panels",
      panel("Levels and runs", this.levels.table), panel("Jobs", this.jobs),
      panel(isLive ? "Rates and latencies" : "Rates", this.rates.table),
      panel("Written for a byte of keys and values", this.bytes.table),
      panel("Waits in the last seconds", this.waits.table));
  }

  // Rates over the last frames: a single one is short, and most of its rates are 0 or large.
  smooth(store) {
    const now = store.gauges;
    const past = this.history;
    if (past.length && past[past.length - 1].seconds > now.seconds) past.length = 0;
    if (!past.length || past[past.length - 1].seconds < now.seconds) past.push(now);
    while (past.length > 120) past.shift();
    const back = this.isLive ? 6 : 12;
    return StoreState.rates(now, past[Math.max(past.length - 1 - back, 0)]);
  }

  show(store) {
    const now = store.gauges;
    const rates = this.smooth(store);
    this.showFigures(store, now, rates);
    this.showLevels(now);
    this.showJobs(now);
    this.showRates(now, rates);
    this.showBytes(now, rates);
    const waits = Object.entries(rates ? rates.waits : {}).filter(([, share]) => share >= 0.005);
    waits.sort((a, b) => b[1] - a[1]);
    const meaning = new Map(this.names.waits);
    this.waits.show(waits.slice(0, 6).map(([name, share]) => [shareText(share), meaning.get(name)]));
    if (!waits.length) this.waits.show([["–", "nothing"]]);
  }

  showFigures(store, now, rates) {
    let used = 0;
    for (let zone = 0; zone < store.shape.zones; zone++) {
      if (store.used[zone] === 1 || store.used[zone] === 2) used++;
    }
    const all = amplification(now.totals.written, now.totals.user_bytes, this.names.causes);
    const puts = rates ? countText(rates.puts * this.factors.operations) : "–";
    this.values.puts.textContent = puts;
    this.values.written.textContent = all.total ? all.total.toFixed(2) + "\u00a0B" : "–";
    this.values.zones.textContent = `${used.toLocaleString("en")} of ${store.shape.zones.toLocaleString("en")}`;
    const valid = now.space.efficiency;
    this.values.valid.textContent = valid === null || valid === undefined ? "–" : shareText(valid);
  }

  showLevels(now) {
    const most = Math.max(...now.levels.map((level) => level.bytes), 1);
    const rows = now.levels.map((level) => [String(level.level), String(level.runs),
      level.tables.toLocaleString("en"), bytesText(level.bytes * this.factors.bytes),
      bar(level.bytes / most, kindColour(level.level))]);
    const [count, bytes] = now.memtables;
    rows.unshift(["memory", String(count), "", bytesText(bytes * this.factors.bytes), ""]);
    this.levels.show(rows);
  }

  showJobs(now) {
    const jobs = (now.jobs || []).map((job) => {
      const colour = job.levels ? kindColour(job.levels[1]) : theme.causes.flush;
      const done = bar(job.share, colour);
      done.setAttribute("role", "progressbar");
      done.setAttribute("aria-valuenow", Math.round(job.share * 100));
      done.setAttribute("aria-label", job.name);
      return element("li", "", element("span", "job", job.name), done,
        element("span", "done", shareText(job.share)));
    });
    const { flushes, merges } = now.totals;
    const count = `${flushes.toLocaleString("en")} flushes and ${merges.toLocaleString("en")} merges so far`;
    if (now.failure) jobs.unshift(element("li", "failed", "writing has stopped: " + now.failure));
    if (!jobs.length) jobs.push(element("li", "idle", "no job is running"));
    this.jobs.replaceChildren(...jobs.slice(0, 6), element("li", "idle", count));
  }

  showRates(now, rates) {
    const latencies = now.latencies;
    const line = (name, key, value, text, latency, colour) => {
      const spark = this.sparks[key] || (this.sparks[key] = { spark: new Spark(), values: [] });
      if (rates && this.spoken !== now.seconds) {
        spark.values.push(value);
        while (spark.values.length > 120) spark.values.shift();
      }
      spark.colour = colour;
      const has = latency && latency.measured > 0;
      return [name, rates ? text(value) : "–", spark.spark.canvas,
        has ? nanosText(latency.p50) : "", has ? nanosText(latency.p99) : ""];
    };
    const it = rates || { puts: 0, gets: 0, scans: 0, user: 0, written: [], read: [] };
    const { bytes, operations } = this.factors;
    const count = (value) => countText(value * operations);
    const size = (value) => bytesText(value * bytes);
    this.rates.show([
      line("puts", "puts", it.puts, count, latencies && latencies.writes, theme.levels[0]),
      line("gets", "gets", it.gets, count, latencies && latencies.gets, theme.causes.read),
      line("scans", "scans", it.scans, count, null, theme.levels[5]),
      line("put", "user", it.user, size, null, theme.levels[2]),
      line("written", "written", sum(it.written), size, null, theme.levels[4]),
      line("read", "read", sum(it.read), size, null, theme.levels[6]),
    ]);
    this.rates.table.classList.toggle("plain", !latencies);
    for (const { spark, values, colour } of Object.values(this.sparks)) spark.draw(values, colour);
    this.spoken = now.seconds;
  }

  showBytes(now, rates) {
    const { causes } = this.names;
    const ever = amplification(now.totals.written, now.totals.user_bytes, causes);
    const last = rates ? amplification(rates.written, rates.user, causes) : null;
    const text = (of, key) => (of && of.total ? of[key].toFixed(2) : "–");
    const rows = [["flush", "flush"], ["merge", "compaction"], ["reclaim", "reclaim"], ["log", "log"],
      ["metadata", "journal"]].map(([key, cause]) => {
      const dot = element("span", "dot");
      dot.style.background = theme.causes[cause];
      return [element("span", "cause", dot, key), text(last, key), text(ever, key)];
    });
    this.bytes.show([...rows, ["in all", text(last, "total"), text(ever, "total")]]);
  }
}
