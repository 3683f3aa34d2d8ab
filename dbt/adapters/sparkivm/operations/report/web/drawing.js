"use strict";
// Graphs on a canvas by Cytoscape.js, laid out by dagre; colours are those of the page's styles.
const Drawing = (() => {
  const drawn = new Set();
  const MANY = 150;
  const LIFE = 1.2;

  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function styles(many) {
    return [
      { selector: "node", style: {
        shape: "round-rectangle", width: "label", height: "label", padding: "7px",
        label: "data(label)", "text-wrap": "wrap", "text-max-width": "210px",
        "text-valign": "center", "font-size": "12px", "min-zoomed-font-size": many ? 7 : 0,
        color: colour("ink"), "background-color": colour("soft"), "border-width": 2,
        "border-color": (node) => colour(node.data("colour") || "line"),
      } },
      { selector: "edge", style: {
        width: 1.3, "curve-style": many ? "haystack" : "bezier", "line-color": colour("line"),
        "target-arrow-color": colour("line"), "target-arrow-shape": "triangle",
        "arrow-scale": 0.8,
      } },
      { selector: "node.filled", style: {
        "background-color": (node) => colour(node.data("colour")), color: colour("paper"),
      } },
      { selector: "node.chosen", style: { "border-width": 4, "border-color": colour("focus") } },
      { selector: "edge.near", style: {
        width: 2.5, "line-color": colour("focus"), "target-arrow-color": colour("focus"),
      } },
      { selector: ".dim", style: { opacity: 0.2 } },
    ];
  }

  // Layers of many boxes become blocks of several columns, so that the whole is about as wide as
  // its place; dagre's order of boxes within a layer stays.
  function wrap(graph) {
    const layers = new Map();
    for (const node of graph.nodes()) {
      const place = Math.round(node.position("x"));
      layers.set(place, [...(layers.get(place) ?? []), node]);
    }
    const sorted = [...layers].sort(([a], [b]) => a - b).map(([, layer]) =>
      layer.sort((a, b) => a.position("y") - b.position("y")));
    const [wide, high] = [Math.max(...graph.nodes().map((node) => node.outerWidth())) + 12, 46];
    const gap = 90;
    const width = (rows) => sorted.reduce(
      (sum, layer) => sum + gap + wide * Math.ceil(layer.length / rows), 0);
    const shape = graph.width() / graph.height();
    let rows = Math.max(...sorted.map((layer) => layer.length));
    while (rows > 1 && width(rows) / (rows * high) < shape) rows -= 1;
    let left = 0;
    for (const layer of sorted) {
      const tall = Math.ceil(layer.length / Math.ceil(layer.length / rows));
      layer.forEach((node, place) => node.position({
        x: left + wide * Math.floor(place / tall),
        y: high * ((place % tall) - (tall - 1) / 2),
      }));
      left += gap + wide * Math.ceil(layer.length / tall);
    }
  }

  // Show all of a graph, though a small one not larger than life.
  function fit(graph) {
    graph.fit(undefined, 20);
    if (graph.zoom() > LIFE) {
      graph.zoom(LIFE);
      graph.center();
    }
  }

  // Draw vertices {id, label, colour, filled} and edges [from, to] into a box of the page.
  function draw(box, vertices, edges, direction) {
    const many = vertices.length > MANY;
    const known = new Set(vertices.map((one) => one.id));
    const graph = cytoscape({
      container: box,
      elements: [
        ...vertices.map((one) => ({ data: one, classes: one.filled ? "filled" : "" })),
        ...edges.filter(([from, to]) => known.has(from) && known.has(to)).map(
          ([source, target], number) => ({ data: { id: `edge ${number}`, source, target } }),
        ),
      ],
      style: styles(many),
      layout: { name: "dagre", rankDir: direction, nodeSep: 14, rankSep: 46,
        ranker: many ? "longest-path" : "network-simplex" },
      minZoom: 0.02, maxZoom: 2.5, autoungrabify: true, boxSelectionEnabled: false,
      hideEdgesOnViewport: many, textureOnViewport: many,
    });
    graph.many = many;
    if (many) graph.batch(() => wrap(graph));
    fit(graph);
    drawn.add(graph);
    return graph;
  }

  function forget(graph) {
    drawn.delete(graph);
    graph.destroy();
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const graph of drawn) graph.style(styles(graph.many));
  });

  return { draw, fit, forget };
})();
