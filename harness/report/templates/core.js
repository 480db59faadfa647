"use strict";
// Small helpers, the packed records of the file, and two widgets: a virtual list and a strip of bars.

const $ = (id) => document.getElementById(id);

function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const unpacked = new Map();

function unpack(id) {
  if (!unpacked.has(id)) unpacked.set(id, read(id));
  return unpacked.get(id);
}

async function read(id) {
  const node = $(id);
  if (!node) return null;
  const bytes = Uint8Array.from(atob(node.textContent), (letter) => letter.charCodeAt(0));
  node.textContent = "";
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

const number = (value) => (value === null || value === undefined ? "not measured" : value.toLocaleString("en"));

function short(value) {
  if (value === null || value === undefined) return "not measured";
  for (const [size, unit] of [[1e6, " M"], [1e3, " k"]]) {
    if (Math.abs(value) >= size) return (value / size).toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 }) + unit;
  }
  return String(value);
}

const plural = (count, what) => `${number(count)} ${what}${count === 1 ? "" : "s"}`;

// Rows are drawn only where they can be seen, so a hundred thousand of them scroll like a hundred.
class VirtualList {
  constructor(host, { label, columns, widths, narrow, cells, open, describe }) {
    this.cells = cells;
    this.open = open;
    this.describe = describe;
    this.items = [];
    this.active = 0;
    this.drawn = new Map();
    this.name = host.id;
    this.media = matchMedia("(max-width: 640px)");
    this.template = () => (this.media.matches ? narrow : widths);
    this.columns = columns;
    this.head = el("div", { class: "head", "aria-hidden": "true" }, ...columns.map(([text, css]) => el("span", { class: css }, text)));
    this.spacer = el("div");
    this.body = el("div", { class: "body", tabindex: 0, role: "listbox", "aria-label": label }, this.spacer);
    host.replaceChildren(this.head, this.body);
    this.body.addEventListener("scroll", () => this.paint(), { passive: true });
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.media.addEventListener("change", () => this.refresh());
    addEventListener("resize", () => this.paint());
  }

  get height() { return this.media.matches ? 44 : 34; }

  show(items, keep = null) {
    this.items = items;
    const at = keep === null ? -1 : items.indexOf(keep);
    this.active = Math.max(0, at);
    this.refresh();
    if (at >= 0) this.reveal();
    else this.body.scrollTop = 0;
  }

  refresh() {
    for (const row of this.drawn.values()) row.remove();
    this.drawn.clear();
    this.head.style.gridTemplateColumns = this.template();
    this.spacer.style.height = `${this.items.length * this.height}px`;
    this.body.querySelector(".empty")?.remove();
    if (!this.items.length) this.body.append(el("p", { class: "empty" }, "Nothing fits this selection."));
    this.paint();
  }

  paint() {
    const first = Math.max(0, Math.floor(this.body.scrollTop / this.height) - 4);
    const last = Math.min(this.items.length, first + Math.ceil(this.body.clientHeight / this.height) + 8);
    for (const [index, row] of this.drawn) {
      if (index < first || index >= last) { row.remove(); this.drawn.delete(index); }
    }
    for (let index = first; index < last; index++) {
      if (!this.drawn.has(index)) this.drawn.set(index, this.draw(index));
    }
    this.mark();
  }

  draw(index) {
    const item = this.items[index];
    const row = el("div", {
      class: "row", role: "option", id: `${this.name}-${index}`, "aria-label": this.describe(item),
      "aria-posinset": index + 1, "aria-setsize": this.items.length,
      onclick: () => { this.move(index); this.open(item); },
    });
    row.style.top = `${index * this.height}px`;
    row.style.gridTemplateColumns = this.template();
    this.cells(item).forEach((cell, column) => {
      row.append(el("span", { class: this.columns[column][1] }, cell));
    });
    this.body.append(row);
    return row;
  }

  mark() {
    for (const [index, row] of this.drawn) {
      row.classList.toggle("active", index === this.active);
      row.setAttribute("aria-selected", String(index === this.active));
    }
    if (this.items.length) this.body.setAttribute("aria-activedescendant", `${this.name}-${this.active}`);
    else this.body.removeAttribute("aria-activedescendant");
  }

  move(index) {
    this.active = Math.max(0, Math.min(this.items.length - 1, index));
    this.reveal();
  }

  reveal() {
    const top = this.active * this.height;
    if (top < this.body.scrollTop) this.body.scrollTop = top;
    const below = top + this.height - this.body.clientHeight;
    if (below > this.body.scrollTop) this.body.scrollTop = below;
    this.paint();
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.body.clientHeight / this.height) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.move(Math.max(0, Math.min(this.items.length - 1, this.active + steps[event.key])));
    else if ((event.key === "Enter" || event.key === " ") && this.items.length) this.open(this.items[this.active]);
    else return;
    event.preventDefault();
  }
}

// A row of bars; left and right choose one.
function strip({ label, bars, chosen, choose, name }) {
  const top = Math.max(1, ...bars.map((bar) => bar.value));
  const host = el("div", { class: "strip", role: "listbox", tabindex: 0, "aria-label": label, "aria-orientation": "horizontal" });
  const nodes = bars.map((bar, index) => {
    const node = el("i", { id: `${name}-${index}`, role: "option", class: bar.css, title: bar.title, "aria-label": bar.title, onclick: () => choose(index) });
    node.style.height = `${Math.max(4, (100 * bar.value) / top)}%`;
    return node;
  });
  host.append(...nodes);
  host.select = (index) => {
    nodes.forEach((node, place) => node.setAttribute("aria-selected", String(place === index)));
    host.setAttribute("aria-activedescendant", `${name}-${index}`);
    const left = nodes[index]?.offsetLeft - host.offsetLeft;
    if (left < host.scrollLeft || left > host.scrollLeft + host.clientWidth - 20) host.scrollLeft = left - host.clientWidth / 2;
    host.chosen = index;
  };
  host.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -bars.length, End: bars.length };
    if (!(event.key in steps)) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(bars.length - 1, host.chosen + steps[event.key])));
  });
  requestAnimationFrame(() => host.select(chosen));
  host.chosen = chosen;
  return host;
}

function choice(label, names, chosen, choose, css = () => "") {
  const group = `choice-${label.replaceAll(" ", "-")}`;
  return el("fieldset", { "aria-label": label }, ...names.map((name, index) =>
    el("label", { class: `chip ${css(index)}` },
      el("input", { type: "radio", name: group, value: name, checked: name === chosen, onchange: () => choose(name) }), name)));
}
