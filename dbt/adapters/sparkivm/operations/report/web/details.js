"use strict";
// One model: where it stands, what comes, its trend, its refreshes, its plan.
const Details = (() => {
  const { element, seconds, bytes, number, changed, pending, mark, unknown } = Words;
  const SVG = "http://www.w3.org/2000/svg";
  const MOST_BARS = 60;
  const MOST_ROWS = 50;
  let graphs = [];

  function facts(pairs) {
    const list = element("dl");
    for (const [title, told] of pairs) {
      if (told) list.append(element("dt", {}, title), element("dd", {}, told));
    }
    return list;
  }

  function table(titles, rows, numbers = []) {
    const kind = (place) => (numbers.includes(place) ? { class: "number" } : {});
    const head = titles.map((title, place) => element("th", { scope: "col", ...kind(place) }, title));
    const body = rows.map((row) =>
      element("tr", {}, ...row.map((cell, place) => element("td", kind(place), cell))));
    return element("table", {}, element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...body));
  }

  function shape(name, given, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(given)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  }

  // A bar for each refresh, oldest first; the dashed line is the last full build.
  function trend(refreshes, full) {
    const shown = refreshes.filter((one) => !unknown(one.seconds)).slice(0, MOST_BARS).reverse();
    if (!shown.length) return element("p", { class: "faint" }, "No refresh told its time.");
    const [width, height, room] = [420, 90, 14];
    const most = Math.max(full ?? 0, ...shown.map((one) => one.seconds), 0.001);
    const step = width / Math.max(shown.length, 12);
    const told = `Seconds of the last ${shown.length} refreshes, oldest first`;
    const picture = shape("svg", { class: "trend", role: "img", "aria-label": told,
      viewBox: `0 0 ${width} ${height + room}`, width, height: height + room });
    shown.forEach((one, place) => {
      const tall = Math.max((one.seconds / most) * height, 1);
      const bar = shape("rect", { x: place * step + 1, y: room + height - tall,
        width: Math.max(step - 2, 1), height: tall, rx: 1 });
      bar.style.fill = `var(--${one.strategy || "other"})`;
      bar.append(shape("title", {},
        `refresh ${one.refresh}, ${one.at ?? "?"}: ${one.strategy}, ${seconds(one.seconds)}`));
      picture.append(bar);
    });
    if (!unknown(full)) {
      const y = room + height - (full / most) * height;
      picture.append(shape("line", { x1: 0, x2: width, y1: y, y2: y }),
        shape("text", { x: width, y: y - 3, "text-anchor": "end" }, `full build ${seconds(full)}`));
    }
    return picture;
  }

  const KINDS = { Scan: "other", State: "incremental", View: "incremental", D: "full",
    I: "recompute", Aggregate: "unknown", Window: "unknown" };

  function drawing(found, direction) {
    const box = element("div", { class: "canvas", role: "img",
      "aria-label": `${found.title}: ${found.vertices.map((one) => one.label).join("; ")}` });
    const vertices = found.vertices.map((one) => ({ id: one.id, colour: KINDS[one.kind],
      label: ["D", "I"].includes(one.kind) ? `${one.label} ${one.kind}` : one.label }));
    // It is laid out once it has a size.
    requestAnimationFrame(() => {
      if (box.isConnected) graphs.push(Drawing.draw(box, vertices, found.edges, direction));
    });
    return box;
  }

  function maintenance(found) {
    if (!found.length) return [];
    const holder = element("div");
    const show = (place) => holder.replaceChildren(drawing(found[place], "BT"));
    const chosen = element("select", { "aria-label": "Whose change",
      onchange: (event) => show(Number(event.target.value)) });
    found.forEach((one, place) => chosen.append(element("option", { value: place }, one.title)));
    show(0);
    return [element("h3", {}, "Maintenance graph"), chosen,
      element("p", { class: "faint" }, "Terms of the normal form that the change affects directly (D) or indirectly (I)."),
      holder];
  }

  function plan(found) {
    const told = Object.entries(found.texts ?? {}).flatMap(([title, text]) =>
      [element("h3", {}, title), element("pre", {}, text)]);
    if (!found.plan) return [element("h3", {}, "Plan"), element("p", {}, found.trouble)];
    const text = found.plan.vertices.map((one) => one.label).join("\n");
    return [element("h3", {}, "Plan"), drawing(found.plan, "BT"),
      element("details", {}, element("summary", {}, "The plan as text, from the top"),
        element("pre", {}, text)),
      ...maintenance(found.maintenance), ...told];
  }

  function result(ran) {
    if (!ran) return [];
    return [element("h3", {}, "In this run"), facts([
      ["status", ran.status], ["strategy", `${ran.strategy} ${ran.reason}`],
      ["took", seconds(ran.seconds)], ["rows", changed(ran)], ["message", ran.message]])];
  }

  function rows(model) {
    const { status, next, refreshes, full_seconds: full, picture } = model;
    const last = status.last;
    const waiting = next.sources.filter((one) => pending(one));
    const shown = refreshes.slice(0, MOST_ROWS);
    return [
      ...status.trouble.map((told) => element("p", { class: "trouble" }, told)),
      facts([
        ["state", status.state], ["rows", number(status.rows)],
        ["size", `${bytes(status.bytes)} in ${number(status.files)} files`],
        ["last refresh", last && `${last.strategy} (${last.reason}), ${last.at ?? "?"}, ${seconds(last.seconds)}, ${changed(last)}`],
        ["last full build", unknown(full) ? "" : seconds(full)],
        ["next refresh", `${next.strategy}${next.reason && ` (${next.reason})`}, about ${seconds(next.seconds)}: ${next.explanation}`],
      ]),
      ...next.notes.map((note) => element("p", { class: "faint" }, note)),
      element("h3", {}, "Pending changes"),
      waiting.length ? table(["source", "rows", "size", "since"], waiting.map((one) =>
        [pending(one).split(" ")[0], one.by ? `by ${one.by}` : changed(one), bytes(one.bytes), one.since ?? "?"]))
        : element("p", {}, "None."),
      element("h3", {}, "Trend"), trend(refreshes, full),
      element("h3", {}, "Refreshes"),
      shown.length ? table(["#", "at", "strategy", "reason", "took", "rows"], shown.map((one) =>
        [`${one.refresh}`, one.at ?? "?", element("span", {}, mark(one.strategy), one.strategy || "?"),
          one.reason || "?", seconds(one.seconds), changed(one)]), [0, 4])
        : element("p", {}, "None."),
      ...plan(picture),
    ];
  }

  // Fill the section with a model, or with what is known of another node of the graph.
  function show(section, node, model, ran, close) {
    graphs.forEach(Drawing.forget);
    graphs = [];
    section.hidden = false;
    section.setAttribute("aria-label", node.name);
    section.replaceChildren(
      element("div", { class: "top" }, element("h2", {}, node.name),
        element("button", { type: "button", onclick: close }, "Close")),
      element("p", { class: "faint" }, node.materialized),
      ...result(ran), ...(model ? rows(model) : []));
  }

  function hide(section) {
    graphs.forEach(Drawing.forget);
    graphs = [];
    section.hidden = true;
    section.replaceChildren();
  }

  return { show, hide };
})();
