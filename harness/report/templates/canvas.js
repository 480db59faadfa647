// Draws a canvas: the subset of Mermaid flowcharts that memories write, or plain lines that end with a pointer.

const CANVAS_KINDS = ["canvas", "active", "history"];

function isCanvas(record, item) {
  const text = record.texts[record.text[item]];
  return CANVAS_KINDS.includes(record.kind[item]) || /```mermaid|^\s*(flowchart|graph)\s/m.test(text);
}

const NODE = /^\s*([\w-]+)\s*(?:(\(\[|\[\[|\(\(|\[\(|\{\{|\[|\(|\{|>)\s*("?)(.*?)\3\s*(?:\]\)|\]\]|\)\)|\)\]|\}\}|\]|\)|\}))?(?::::([\w-]+))?\s*/;
const ARROW = /^\s*(?:--\s+("?)([^->|"]+)\1\s+(?:-->|---)|(?:<?(?:--+|==+|-\.+-?)[>xo]?))\s*(?:\|\s*"?([^|"]*)"?\s*\|)?/;

function plain(label) {
  return label.replace(/<br\s*\/?>/gi, "\n").replace(/#quot;|&quot;/g, '"').replace(/#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
}

// {nodes: Map id -> {id, label, css, group}, edges: [{from, to, label}], sideways}; null when there is no flowchart.
function parseFlowchart(source) {
  const fenced = /```mermaid\s*\n([\s\S]*?)(?:```|$)/.exec(source);
  const lines = (fenced ? fenced[1] : source).split("\n");
  const start = lines.findIndex((line) => /^\s*(flowchart|graph)\b/.test(line));
  if (start < 0) return null;
  const chart = { nodes: new Map(), edges: [], sideways: /\b(LR|RL)\b/.test(lines[start]) };
  const groups = [];
  for (const raw of lines.slice(start + 1).flatMap((line) => (/^\s*%%/.test(line) ? [] : line.split(/;\s*(?=$|[\w-]+\s*(?:-|=|\[|\())/)))) {
    const line = raw.trim();
    if (!line || /^(style|linkStyle|classDef|click|direction)\b/.test(line)) continue;
    const group = /^subgraph\s+(?:[\w-]+\s*)?(?:\[?\s*"?([^"\]]*)"?\s*\]?)?/.exec(line);
    const css = /^class\s+([\w,\s-]+)\s+([\w-]+)$/.exec(line);
    if (group) groups.push(plain(group[1] || line.slice(9)));
    else if (line === "end") groups.pop();
    else if (css) css[1].split(",").forEach((id) => { const node = chart.nodes.get(id.trim()); if (node) node.css = css[2]; });
    else statement(chart, line, groups.at(-1) || null);
  }
  return chart.nodes.size ? chart : null;
}

function statement(chart, line, group) {
  let before = [], label = "", rest = line;
  while (rest) {
    const now = [];
    for (;;) {
      const match = NODE.exec(rest);
      if (!match) return;
      now.push(remember(chart, match, group));
      rest = rest.slice(match[0].length);
      if (!rest.startsWith("&")) break;
      rest = rest.slice(1);
    }
    for (const from of before) for (const to of now) chart.edges.push({ from, to, label });
    const arrow = ARROW.exec(rest);
    if (!arrow || !arrow[0].trim()) return;
    label = plain((arrow[2] || arrow[3] || "").trim());
    rest = rest.slice(arrow[0].length);
    before = now;
  }
}

function remember(chart, [, id, shape, , label, css], group) {
  const node = chart.nodes.get(id) || { id, label: id, css: "", group };
  if (group && !node.group) node.group = group;
  if (shape) node.label = plain(label);
  if (css) node.css = css;
  if (!node.css) node.css = /\b(done|doing|blocked|todo)\b/i.exec(node.label)?.[1].toLowerCase() || "";
  chart.nodes.set(id, node);
  return id;
}

// Lines such as "012 some-task: a.py -> refs/ab.txt" as a chain of boxes that open their evidence.
function parseLines(source) {
  const nodes = new Map(), edges = [];
  source.split("\n").forEach((line, index) => {
    const match = /^(.*?)\s*->\s*(\S+\/\S+)\s*$/.exec(line);
    if (!match) return;
    const id = `line-${index}`, last = [...nodes.keys()].at(-1);
    nodes.set(id, { id, label: match[1], css: "done", group: null, ref: match[2] });
    if (last) edges.push({ from: last, to: id, label: "" });
  });
  return nodes.size ? { nodes, edges, sideways: true } : null;
}

// Layers by the longest way from a beginning; an edge that closes a circle is drawn but moves nothing.
function layers(chart) {
  const depth = new Map([...chart.nodes.keys()].map((id) => [id, 0]));
  const forward = [], seen = new Set(), open = new Set();
  const visit = (id) => {
    seen.add(id); open.add(id);
    for (const edge of chart.edges) {
      if (edge.from !== id || open.has(edge.to)) continue;
      forward.push(edge);
      if (!seen.has(edge.to)) visit(edge.to);
    }
    open.delete(id);
  };
  for (const id of chart.nodes.keys()) if (!seen.has(id)) visit(id);
  for (let round = 0; round < chart.nodes.size; round++) {
    let moved = false;
    for (const { from, to } of forward) {
      if (depth.get(to) <= depth.get(from)) { depth.set(to, depth.get(from) + 1); moved = true; }
    }
    if (!moved) break;
  }
  const rows = [];
  for (const [id, level] of depth) (rows[level] ||= []).push(id);
  return rows.filter(Boolean);
}

function wrap(text, width) {
  const lines = [];
  for (const part of text.split("\n")) {
    let line = "";
    for (const word of part.split(/(?<=[\s/_.,:-])/)) {
      if (line && (line + word).trimEnd().length > width) { lines.push(line.trimEnd()); line = ""; }
      line += word.length > width ? `${word.slice(0, width - 1)}…` : word;
    }
    lines.push(line.trimEnd());
  }
  return lines.length > 5 ? [...lines.slice(0, 4), `${lines[4].slice(0, width - 1)}…`] : lines;
}

const svg = (tag, attributes, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};

function drawCanvas(source, showEvidence) {
  const chart = parseFlowchart(source) || parseLines(source);
  if (!chart) return el("pre", { class: "alone", tabindex: 0 }, source);
  const places = place(chart);
  const canvas = svg("svg", { width: places.width, height: places.height, viewBox: `0 0 ${places.width} ${places.height}`, role: "img", "aria-label": `Canvas of ${chart.nodes.size} nodes` },
    svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z" }))));
  for (const edge of chart.edges) canvas.append(...line(places, edge, chart.sideways));
  const shown = el("div");
  for (const node of chart.nodes.values()) canvas.append(boxOf(places.at.get(node.id), node, shown, showEvidence));
  return el("div", {}, el("div", { class: "canvas", tabindex: 0 }, canvas), shown);
}

function place(chart) {
  const at = new Map(), gap = 26, across = 12;
  let main = 8, width = 0, height = 0;
  for (const row of layers(chart)) {
    const boxes = row.map((id) => {
      const { label, group } = chart.nodes.get(id), lines = wrap(label, 26);
      if (group) lines.unshift(`[${group}]`);
      return { id, lines, w: Math.max(60, 14 + 6.7 * Math.max(...lines.map((text) => text.length))), h: 12 + 15 * lines.length };
    });
    let side = 8, thick = 0;
    for (const box of boxes) {
      at.set(box.id, chart.sideways ? { ...box, x: main, y: side } : { ...box, x: side, y: main });
      side += (chart.sideways ? box.h : box.w) + across;
      thick = Math.max(thick, chart.sideways ? box.w : box.h);
    }
    main += thick + gap;
    [width, height] = chart.sideways ? [main, Math.max(height, side)] : [Math.max(width, side), main];
  }
  return { at, width: Math.ceil(width), height: Math.ceil(height) };
}

function line(places, { from, to, label }, sideways) {
  const a = places.at.get(from), b = places.at.get(to);
  const [x1, y1, x2, y2] = sideways
    ? [a.x + a.w, a.y + a.h / 2, b.x, b.y + b.h / 2]
    : [a.x + a.w / 2, a.y + a.h, b.x + b.w / 2, b.y];
  const bend = sideways ? `M${x1} ${y1}C${x1 + 14} ${y1} ${x2 - 14} ${y2} ${x2} ${y2}` : `M${x1} ${y1}C${x1} ${y1 + 14} ${x2} ${y2 - 14} ${x2} ${y2}`;
  const parts = [svg("path", { d: bend, "marker-end": "url(#tip)" })];
  if (label) parts.push(svg("text", { x: (x1 + x2) / 2 + 4, y: (y1 + y2) / 2 }, label));
  return parts;
}

function boxOf(box, node, shown, showEvidence) {
  const group = svg("g", { class: node.css });
  group.append(svg("title", {}, node.label), svg("rect", { x: box.x, y: box.y, width: box.w, height: box.h, rx: 5 }));
  box.lines.forEach((text, index) => group.append(svg("text", { x: box.x + 7, y: box.y + 18 + 15 * index }, text)));
  if (node.ref) {
    const open = () => shown.replaceChildren(showEvidence(node.ref));
    group.setAttribute("role", "button");
    group.setAttribute("tabindex", "0");
    group.setAttribute("aria-label", `${node.label}: show its evidence`);
    group.addEventListener("click", open);
    group.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); } });
  }
  return group;
}
