// Numbers as text: bytes, rates, durations, shares.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function digits(value) {
  if (value === 0) return "0";
  return value < 9.95 ? value.toFixed(1) : Math.round(value).toLocaleString("en");
}

function bytesText(bytes) {
  let unit = 0;
  while (bytes >= 1023.5 && unit < UNITS.length - 1) { bytes /= 1024; unit++; }
  return (unit === 0 ? Math.round(bytes) : digits(bytes)) + "\u00a0" + UNITS[unit];
}

function countText(count) {
  if (count >= 1e6) return digits(count / 1e6) + "\u00a0M";
  if (count >= 1e4) return digits(count / 1e3) + "\u00a0k";
  return count < 10 && count > 0 ? count.toFixed(1) : Math.round(count).toLocaleString("en");
}

function shareText(share) {
  const percent = share * 100;
  return (percent > 0 && percent < 9.95 ? percent.toFixed(1) : Math.round(percent)) + "\u00a0%";
}

function nanosText(nanos) {
  for (const [most, by, unit] of [[1e3, 1, "ns"], [1e6, 1e3, "µs"], [1e9, 1e6, "ms"]]) {
    if (nanos < most) return (by === 1 ? Math.round(nanos) : digits(nanos / by)) + "\u00a0" + unit;
  }
  return clockText(nanos / 1e9);
}

function clockText(seconds) {
  if (seconds < 10) return seconds.toFixed(1) + "\u00a0s";
  const whole = Math.round(seconds);
  const two = (n) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

// An element with a class and children; texts are never read as HTML.
function element(tag, name, ...children) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...children);
  return made;
}
