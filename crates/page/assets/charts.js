// Charts over time: a line for a rate that is shown now (`Spark`), and the bytes that a whole run
// wrote, by cause (`Strip`).

class Spark {
  constructor() {
    this.canvas = element("canvas", "spark");
    this.canvas.setAttribute("aria-hidden", "true");
  }

  draw(values, colour) {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const w = this.canvas.clientWidth, h = this.canvas.clientHeight;
    if (!w || !h) return;
    this.canvas.width = w * ratio;
    this.canvas.height = h * ratio;
    const ctx = this.canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (values.length < 2) return;
    const most = Math.max(...values, 1e-9), n = Math.max(values.length - 1, 1);
    const at = (i) => [(i / n) * w, h - 1.5 - (values[i] / most) * (h - 3)];
    ctx.beginPath();
    values.forEach((_, i) => ctx.lineTo(...at(i)));
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1.5;
    ctx.lineJoin = "round";
    ctx.stroke();
    ctx.lineTo(w, h);
    ctx.lineTo(0, h);
    ctx.globalAlpha = 0.15;
    ctx.fillStyle = colour;
    ctx.fill();
  }
}

// Causes of a strip, from the bottom up.
const STACKED = [["flush", "flush"], ["compaction", "merge"], ["reclaim", "reclaim"], ["log", "log"],
  ["journal", "metadata"]];

class Strip {
  constructor(name) {
    this.name = name;
    this.canvas = element("canvas", "strip");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `Bytes that ${name} wrote, by cause, over the run`);
  }

  // `points`: places from 0 to 1, and bytes a second by cause, smoothed.
  draw(points, most, causes) {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const w = this.canvas.clientWidth, h = this.canvas.clientHeight;
    if (!w || !h || !points.length) return;
    this.canvas.width = w * ratio;
    this.canvas.height = h * ratio;
    const ctx = this.canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const base = points.map(() => 0);
    for (const [cause] of STACKED) {
      const index = causes.indexOf(cause);
      ctx.beginPath();
      points.forEach(([x], i) => ctx.lineTo(x * w, h - (base[i] / most) * h));
      for (let i = points.length - 1; i >= 0; i--) {
        base[i] += points[i][1][index] || 0;
        ctx.lineTo(points[i][0] * w, h - (base[i] / most) * h);
      }
      ctx.fillStyle = theme.causes[cause];
      ctx.fill();
    }
  }
}
