"use strict";
// Graphs on a canvas by Cytoscape.js, laid out by dagre; colours are those of the page's styles.
const Drawing = (() => {
  const drawn = new Set();
  const MANY = 150;

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

  return { draw, forget };
})();
