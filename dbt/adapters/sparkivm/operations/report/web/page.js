"use strict";
// The page: graph and table of the models, what is chosen in them, and the keyboard.
(() => {
  const { element, seconds, number, changed, pending, mark } = Words;
  const shown = JSON.parse(document.getElementById("contents").textContent);
  const at = (id) => document.getElementById(id);
  const nodes = new Map(shown.nodes.map((node) => [node.id, node]));
  const ran = (id) => shown.run?.results[id];

  const WAYS = {
    run: ["this run", (id) => ran(id)?.strategy],
    last: ["last refresh", (id) => shown.models[id]?.status.last?.strategy],
    next: ["next refresh", (id) => shown.models[id]?.next.strategy],
  };
  let way = shown.run ? "run" : "last";
  let order = { column: 0, down: false };
  let chosen = null;

  const strategy = (id) =>
    shown.models[id] || ran(id)?.strategy ? WAYS[way][1](id) || (way === "run" ? "not run" : "not built") : "";

  const COLUMNS = [
    ["model", (m) => m.name, (m) => m.name],
    ["strategy", (m) => strategy(m.id), (m) => element("span", {}, mark(strategy(m.id)), strategy(m.id))],
    ["reason", (m) => m.reason, (m) => m.reason],
    ["took", (m) => m.seconds ?? -1, (m) => seconds(m.seconds), true],
    ["full build", (m) => m.full_seconds ?? -1, (m) => seconds(m.full_seconds), true],
    ["of full", (m) => share(m) ?? -1, (m) => (share(m) === null ? "?" : `${Math.round(100 * share(m))} %`), true],
    ["rows", (m) => m.status.rows ?? -1, (m) => number(m.status.rows), true],
    ["rows ±", (m) => m.changed, (m) => m.changed],
    ["pending", (m) => m.pending, (m) => m.pending],
  ];

  function share(model) {
    const { seconds: took, full_seconds: full } = model;
    return typeof took === "number" && full > 0 ? took / full : null;
  }

  function told(id) {
    const model = shown.models[id];
    const last = way === "run" ? ran(id) : model.status.last;
    const source = way === "next" ? model.next : last;
    return { ...model, id, name: nodes.get(id)?.name ?? id, reason: source?.reason ?? "",
      seconds: source?.seconds ?? null, changed: way === "next" || !last ? "" : changed(last),
      pending: model.next.sources.map(pending).filter(Boolean).join(", ") };
  }

  function listed() {
    const wanted = at("find").value.trim().toLowerCase();
    const [, value] = COLUMNS[order.column];
    const sign = order.down ? -1 : 1;
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    return Object.keys(shown.models).map(told)
      .filter((m) => `${m.name} ${strategy(m.id)} ${m.reason}`.toLowerCase().includes(wanted))
      .sort((a, b) => sign * compare(value(a), value(b)) || compare(a.name, b.name));
  }

  function fill() {
    at("titles").replaceChildren(...COLUMNS.map(([title, , , right], column) => {
      const sorted = order.column === column ? (order.down ? "descending" : "ascending") : "none";
      const sort = () => {
        order = { column, down: order.column === column && !order.down };
        fill();
        at("titles").children[column].firstChild.focus();
      };
      return element("th", { scope: "col", "aria-sort": sorted, class: right ? "number" : "" },
        element("button", { type: "button", onclick: sort }, title));
    }));
    const found = listed();
    at("rows").replaceChildren(...found.map((m) => {
      const cells = COLUMNS.map(([, , show, right], column) =>
        element("td", { class: right ? "number" : "" }, column ? show(m)
          : element("button", { type: "button", "data-id": m.id, onclick: () => choose(m.id) }, m.name)));
      return element("tr", { class: m.id === chosen ? "chosen" : "" }, ...cells);
    }));
    at("none").hidden = found.length > 0;
    const names = new Set(found.map((m) => m.id));
    const some = at("find").value.trim() !== "";
    graph.batch(() => graph.nodes().forEach((node) => {
      node.toggleClass("dim", some && !names.has(node.id()));
    }));
  }

  function colour() {
    graph.batch(() => graph.nodes().forEach((node) => {
      const name = strategy(node.id());
      node.data("colour", ["noop", "incremental", "recompute", "full", "error", "unknown"]
        .includes(name) ? name : "line");
      node.toggleClass("filled", Boolean(shown.models[node.id()]));
    }));
    const counts = new Map();
    for (const id of Object.keys(shown.models)) {
      counts.set(strategy(id), (counts.get(strategy(id)) ?? 0) + 1);
    }
    at("legend").replaceChildren(...[...counts].sort().map(([name, count]) =>
      element("li", {}, mark(name), `${name} ${count}`)));
  }

  function choose(id) {
    chosen = id;
    document.querySelector("main").classList.add("open");
    Details.show(at("details"), nodes.get(id), shown.models[id], ran(id), close);
    graph.resize();
    graph.elements().removeClass("chosen near");
    const node = graph.getElementById(id);
    node.addClass("chosen");
    node.connectedEdges().addClass("near");
    if (node.nonempty()) graph.animate({ center: { eles: node }, zoom: Math.max(graph.zoom(), 0.7) }, { duration: 150 });
    fill();
    at("details").focus({ preventScroll: matchMedia("(min-width: 60rem)").matches });
    at("details").scrollTop = 0;
  }

  function close() {
    const before = chosen;
    chosen = null;
    document.querySelector("main").classList.remove("open");
    Details.hide(at("details"));
    graph.resize();
    graph.elements().removeClass("chosen near");
    fill();
    const row = [...at("rows").querySelectorAll("button")].find((one) => one.dataset.id === before);
    row?.focus();
  }

  function move(step) {
    const rows = [...at("rows").querySelectorAll("button")];
    const here = rows.indexOf(document.activeElement);
    if (here < 0 && !["find", "models"].includes(document.activeElement.id)) return false;
    rows[Math.max(0, Math.min(rows.length - 1, here + step))]?.focus();
    return true;
  }

  const graph = Drawing.draw(at("project"), shown.nodes.map(({ id, name }) => ({ id, label: name })),
    shown.nodes.flatMap((node) => node.reads.map((above) => [above, node.id])), "LR");
  graph.on("tap", "node", (event) => choose(event.target.id()));
  at("fit").addEventListener("click", () => Drawing.fit(graph));
  at("find").addEventListener("input", fill);
  for (const [name, [title]] of Object.entries(WAYS)) {
    if (name === "run" && !shown.run) continue;
    at("colours").append(element("option", { value: name, ...(name === way ? { selected: "" } : {}) }, title));
  }
  at("colours").addEventListener("change", (event) => { way = event.target.value; colour(); fill(); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input, select");
    if (event.key === "/" && !typing) { at("find").focus(); event.preventDefault(); }
    else if (event.key === "Escape" && chosen) close();
    else if (event.key === "ArrowDown" && !event.target.matches("select") && move(1)) event.preventDefault();
    else if (event.key === "ArrowUp" && !event.target.matches("select") && move(-1)) event.preventDefault();
  });

  const total = Object.keys(shown.models).length;
  const run = shown.run ? `, run of ${shown.run.at}` : "";
  const about = shown.totals.seconds === null ? "" : `; the next run takes about ${seconds(shown.totals.seconds)}`;
  at("summary").textContent = `${total} maintained models, seen at ${shown.at}${run}${about}`;
  colour();
  fill();
  document.documentElement.dataset.ready = "yes";
})();
