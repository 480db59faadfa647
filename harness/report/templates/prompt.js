// A prompt as it was sent, message by message, beside the messages of the history that were left out of it.

function expand(calls, upTo) {
  let prompt = [];
  for (let index = 0; index <= upTo; index++) {
    const [, shared, runs] = calls[index];
    prompt = prompt.slice(0, shared);
    for (let run = 0; run < runs.length; run += 2) {
      for (let step = 0; step < runs[run + 1]; step++) prompt.push(runs[run] + step);
    }
  }
  return prompt;
}

// For each message of the prompt the recorded one it stands for: itself, or, where an engine put as many of its own
// between two recorded messages as are missing there, the missing one in the same place.
function origins(record, prompt, place) {
  const found = prompt.map((item) => (item < record.history ? item : null));
  let last = -1, made = [];
  [...prompt, place].forEach((item, index) => {
    if (item >= record.history) { made.push(index); return; }
    const from = last + 1;
    const alike = (step) => ["role", "kind"].every((name) => record[name][prompt[made[step]]] === record[name][from + step]);
    if (made.length === item - from && made.every((_, step) => alike(step))) made.forEach((at, step) => { found[at] = from + step; });
    [last, made] = [item, []];
  });
  return found;
}

function promptView(record, task, calls, index, ledgerCall) {
  const place = calls[index][0], prompt = expand(calls, index), inside = new Set(prompt);
  const origin = origins(record, prompt, place);
  const own = record.tasks[task], needs = own.needs[place] || {};
  const missing = new Map((state.calls.missing[ledgerCall] || []).map((name) => [name, needs[name]]));
  const out = [];
  for (let item = 0; item < place; item++) if (!inside.has(item)) out.push(item);
  const view = { record, own, missing, inside, sources: new Set(missing.values()), short: new Set(origin) };
  const sum = (items) => items.reduce((total, item) => total + record.tokens[item], 0);
  const canvases = prompt.filter((item) => item >= record.history && isCanvas(record, item));
  return [
    ...canvases.map((item) => el("div", {}, el("h3", {}, "Canvas"), drawCanvas(record.texts[record.text[item]], (ref) => evidence(record, ref)))),
    el("div", { class: "columns" },
      el("div", {}, el("h3", {}, "In the prompt ", el("small", {}, `${plural(prompt.length, "message")}, ${number(sum(prompt))} tokens`)), ...listed(view, prompt, origin)),
      el("div", {}, el("h3", {}, "Left out ", el("small", {}, `${plural(out.length, "message")}, ${number(sum(out))} tokens`)),
        ...(out.length ? listed(view, out, out) : [el("p", { class: "soft" }, "Nothing: the prompt is the whole history.")]))),
    el("h3", {}, "What the agent did next"),
    el("pre", { class: "alone", tabindex: 0 }, ...highlighted(record.texts[record.text[place]], missing)),
  ];
}

// Messages of earlier tasks fold into one line a task; everything else stands alone.
function listed(view, items, origin) {
  const { record, own } = view, parts = [];
  let group = null;
  items.forEach((item, index) => {
    const from = origin[index];
    const earlier = from !== null && from < own.start && record.role[from] !== "system" ? taskAt(record, from) : null;
    if (earlier === null) { group = null; parts.push(message(view, item, from)); return; }
    if (!group || group.earlier !== earlier) { group = { earlier, items: [] }; parts.push(group); }
    group.items.push([item, from]);
  });
  return parts.map((part) => (part.items ? folded(view, part) : part));
}

function taskAt(record, item) {
  let low = 0, high = record.starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (record.starts[middle] <= item) low = middle; else high = middle - 1;
  }
  return low;
}

function folded(view, { earlier, items }) {
  const tokens = items.reduce((total, [item]) => total + view.record.tokens[item], 0);
  const details = el("details", {}, el("summary", {}, el("small", {}, `${number(tokens)} tokens`), `task ${earlier + 1}, ${view.record.names[earlier]}: ${plural(items.length, "message")}`));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(...items.map(([item, from]) => message(view, item, from)));
  });
  return details;
}

function message(view, item, from) {
  const { record } = view, text = record.texts[record.text[item]], made = item >= record.history;
  const wanted = view.sources.has(item);
  const tags = [record.result[item] ? "tool output" : record.role[item]];
  if (made) tags.push(from !== null ? "shortened by the engine" : record.kind[item] ? `${record.kind[item]}, made by the engine` : "made by the engine");
  else if (view.short.has(item) && !view.inside.has(item)) tags.push("a shorter form is in the prompt");
  if (wanted) tags.push("needed by this action");
  const first = text.replace(/\s+/g, " ").slice(0, 160);
  const details = el("details", { class: wanted ? "found" : made ? "made" : "" },
    el("summary", {}, el("small", {}, `${number(record.tokens[item])} tokens · ${tags.join(" · ")}`), first));
  const fill = () => { if (details.open && details.children.length === 1) details.append(...body(view, item)); };
  details.addEventListener("toggle", fill);
  if (wanted || (made && isCanvas(record, item))) { details.open = true; fill(); }
  return details;
}

function body(view, item) {
  const { record } = view, number = record.text[item], text = record.texts[number], behind = record.evidence[state.arm] || {};
  const pre = el("pre", { tabindex: 0 });
  const refs = (record.refs[item] || []).filter((ref) => text.includes(ref));
  if (refs.length) pre.append(...linked(text, refs, (ref) => refButton(record, ref, ref in behind)));
  else pre.append(...highlighted(text, view.missing));
  const full = record.cut[number];
  return full ? [pre, el("p", { class: "hint" }, `Cut after ${text.length.toLocaleString("en")} of ${full.toLocaleString("en")} characters to keep this file small.`)] : [pre];
}

function linked(text, refs, button) {
  const parts = [];
  const pattern = new RegExp([...refs].sort((a, b) => b.length - a.length).map((ref) => ref.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "g");
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    parts.push(text.slice(from, match.index), button(match[0]));
    from = match.index + match[0].length;
  }
  parts.push(text.slice(from));
  return parts;
}

function refButton(record, ref, known) {
  if (!known) return el("span", { class: "bad", title: "this pointer leads nowhere" }, ref);
  const button = el("button", { type: "button", class: "ref", "aria-expanded": "false" }, ref);
  button.addEventListener("click", () => {
    const shown = button.nextElementSibling?.classList.contains("evidence");
    if (shown) button.nextElementSibling.remove();
    else button.after(evidence(record, ref));
    button.setAttribute("aria-expanded", String(!shown));
  });
  return button;
}

function evidence(record, ref) {
  const known = record.evidence[state.arm] || {}, number = known[ref];
  if (number === undefined) return el("pre", { class: "evidence" }, "This pointer leads nowhere.");
  const text = record.texts[number], inner = [...new Set(text.match(/refs\/[\w.-]*\w/g) || [])];
  const parts = inner.length ? linked(text, inner, (one) => refButton(record, one, one in known)) : [text];
  return el("pre", { class: "evidence", tabindex: 0 }, ...parts, record.cut[number] ? `\n[cut, ${record.cut[number].toLocaleString("en")} characters in all]` : "");
}

function highlighted(text, missing) {
  if (!missing.size) return [text];
  return linked(text, [...missing.keys()], (name) => el("mark", {}, name));
}
