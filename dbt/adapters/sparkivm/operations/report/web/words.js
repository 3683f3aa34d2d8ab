"use strict";
// Numbers and times in short, and elements that hold texts only: nothing is ever read as HTML.
const Words = (() => {
  const unknown = (value) => value === null || value === undefined;

  function element(name, given = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(given)) {
      if (key === "class") made.className = value;
      else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => !unknown(child)));
    return made;
  }

  function seconds(value) {
    if (unknown(value)) return "?";
    if (value < 100) return `${value.toFixed(1)} s`;
    return value < 7200 ? `${Math.round(value / 60)} min` : `${(value / 3600).toFixed(1)} h`;
  }

  function bytes(value) {
    if (unknown(value)) return "?";
    const units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let unit = 0;
    while (value >= 1000 && unit < units.length - 1) { value /= 1000; unit += 1; }
    return unit ? `${value.toFixed(1)} ${units[unit]}` : `${value} B`;
  }

  const number = (value) => (unknown(value) ? "?" : value.toLocaleString("en"));

  function changed({ inserted, updated, deleted, written }) {
    if (!unknown(written)) return `${number(written)} rows`;
    if ([inserted, updated, deleted].some(unknown)) return "?";
    return `+${number(inserted)} ~${number(updated)} -${number(deleted)}`;
  }

  // A source's pending changes in a few words; nothing if it has none, or was never read.
  function pending(source) {
    if (unknown(source.bookmark) || ["unchanged", "columns only"].includes(source.change)) return "";
    const name = source.source.split(".").pop();
    const versions = `${name}@${source.bookmark}→${source.version ?? "?"}`;
    if (source.by) return `${versions} (by ${source.by})`;
    if (source.change === "replaced") return `${versions} replaced`;
    return `${versions} ${changed(source)}`;
  }

  function mark(strategy) {
    const known = ["noop", "incremental", "recompute", "full", "error", "unknown"];
    return element("span", { class: `mark ${known.includes(strategy) ? strategy : ""}` });
  }

  return { element, seconds, bytes, number, changed, pending, mark, unknown };
})();
