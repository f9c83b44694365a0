// Colours of levels, causes and the map's own signs, by theme. Warm levels are new, cool ones old;
// within a theme all have about the same lightness, so that none stands out by itself.

const THEMES = {
  light: {
    levels: ["#d9822b", "#cf5a4a", "#b8478f", "#7a5bd0", "#3d78c9", "#1f93a8", "#3f9a63"],
    log: "#7d8793", other: "#a08a62",
    cell: "#efece4", edge: "#d8d3c6", dead: "#c9c4b8", ink: "#23262b", open: "#1b1d21",
    window: "#111417", flash: "#ffffff", mute: "#6a6f77", reserved: "#b9b6ae",
    lane: "#f1eee7", bad: "#c0392b", page: "#fbfaf7", focus: "#0b66d8", onLevel: "#ffffff",
    glow: "#ffd23f",
    causes: { flush: "#d9822b", compaction: "#3d78c9", reclaim: "#c2376b", log: "#8b95a1",
      journal: "#b5bac1", superblock: "#b5bac1", read: "#3f9a63", recovery: "#9a8f7a",
      client: "#7a5bd0" },
  },
  dark: {
    levels: ["#f0a04b", "#ec7a66", "#dd6fb4", "#a489f0", "#6ea3ee", "#47bccd", "#6cc58d"],
    log: "#8f9aa6", other: "#c2ab7e",
    cell: "#20242a", edge: "#343a43", dead: "#474d57", ink: "#e9ebee", open: "#ffffff",
    window: "#ffffff", flash: "#ffffff", mute: "#98a0aa", reserved: "#59606b",
    lane: "#1c2025", bad: "#ff7b6b", page: "#14171b", focus: "#7db7ff", onLevel: "#14171b",
    glow: "#fff6c8",
    causes: { flush: "#f0a04b", compaction: "#6ea3ee", reclaim: "#f0679a", log: "#8f9aa6",
      journal: "#68707b", superblock: "#68707b", read: "#6cc58d", recovery: "#a89c86",
      client: "#a489f0" },
  },
};

let theme = THEMES.light;

function kindColour(kind) {
  if (kind === LOG) return theme.log;
  if (kind === OTHER) return theme.other;
  return theme.levels[Math.min(kind, theme.levels.length - 1)];
}

function kindName(kind, hasNames) {
  if (kind === LOG) return "log";
  if (kind === OTHER) return "other files";
  return hasNames ? `lifetime ${kind + 1}` : `level ${kind}`;
}

const kindLetter = (kind, hasNames) =>
  kind === LOG ? "L" : kind === OTHER ? "C" : String(hasNames ? kind + 1 : kind);

// A colour between two others, both as #rrggbb.
function between(one, other, share) {
  let text = "#";
  for (const at of [1, 3, 5]) {
    const [a, b] = [parseInt(one.slice(at, at + 2), 16), parseInt(other.slice(at, at + 2), 16)];
    text += Math.round(a + (b - a) * share).toString(16).padStart(2, "0");
  }
  return text;
}
