// One task: its session as a strip, its calls as a strip, and the prompt of a call next to what was left out of it.

const agentCalls = (found, task) => (found.first.get(task) || []).filter((call) => !found.purpose[call]);

async function openTask(task, call = 0, scroll = false) {
  const found = state.calls;
  const calls = agentCalls(found, task);
  state.task = task;
  state.call = Math.max(0, Math.min(calls.length - 1, call || 0));
  const base = await ledger(facts.baseline);
  const record = await promptsOf(task);
  const section = $("task");
  section.hidden = false;
  section.replaceChildren(el("h2", {}, state.tasks.id[task]), sessionPanel(task), await callsPanel(task, calls, base, record));
  writeAddress();
  if (scroll) {
    section.scrollIntoView({ block: "start" });
    section.focus({ preventScroll: true });
  }
}

async function promptsOf(task) {
  const blob = facts.shown[taskKey(task)];
  if (!blob) return null;
  const name = state.tasks.sessions[state.tasks.session[task]];
  return (await unpack(`prompts-${name}`)) || unpack(`prompts-${name}|${state.arm}`);
}

function sessionPanel(task) {
  const session = state.tasks.session[task], attempt = state.tasks.attempt[task];
  const members = state.tasks.id.map((_, index) => index)
    .filter((index) => state.tasks.session[index] === session && state.tasks.attempt[index] === attempt);
  const place = members.indexOf(task);
  const open = (index) => { openTask(members[index], 0).then(() => $("strip-session")?.focus({ preventScroll: true })); };
  const bars = members.map((member) => ({
    value: adjusted(figures(member)) || 0,
    css: `a${facts.arms.indexOf(state.arm)} ${facts.shown[taskKey(member)] ? "here" : ""}`,
    title: `${state.tasks.id[member]}: ${short(adjusted(figures(member)))} tokens`,
  }));
  const line = strip({ label: "Tasks of this session", name: "in-session", bars, chosen: place, choose: open });
  line.id = "strip-session";
  return el("div", { class: "panel" },
    el("h3", {}, `Session ${state.tasks.sessions[session]}, task ${place + 1} of ${members.length}`,
      el("small", {}, `${state.arm}; a bar a task, its height the tokens; a dot where the prompts are in this file`)),
    line,
    el("div", { class: "tools" },
      el("button", { type: "button", disabled: place === 0, onclick: () => open(place - 1) }, "← previous task"),
      el("button", { type: "button", disabled: place === members.length - 1, onclick: () => open(place + 1) }, "next task →")));
}

async function callsPanel(task, calls, base, record) {
  const found = state.calls, baseCalls = agentCalls(base, task);
  const panel = el("div", { class: "panel" });
  const detail = el("div", { role: "group", "aria-label": "The chosen call" });
  if (!calls.length) return el("div", { class: "panel" }, el("p", {}, `${state.arm} made no call on this task.`));
  const bars = calls.map((call, index) => ({
    value: found.prompt[call] || 0,
    css: `a${facts.arms.indexOf(state.arm)} ${found.missing[call] ? "missing" : ""}`,
    title: `call ${index + 1}: ${number(found.prompt[call])} tokens` + (found.missing[call] ? `, not visible: ${found.missing[call].join(", ")}` : ""),
  }));
  const choose = (index) => {
    state.call = index;
    line.select(index);
    detail.replaceChildren(...callDetail(task, calls[index], index, calls.length, base, baseCalls[index], record));
    writeAddress();
  };
  const line = strip({ label: "Calls of this task", name: "in-task", bars, chosen: state.call, choose });
  panel.append(
    el("h3", {}, plural(calls.length, "call"), el("small", {}, "a bar a call, its height the prompt; a red dot where a need was not visible; left and right move")),
    line, detail);
  detail.replaceChildren(...callDetail(task, calls[state.call], state.call, calls.length, base, baseCalls[state.call], record));
  return panel;
}

function callDetail(task, call, index, total, base, baseCall, record) {
  const found = state.calls, prompt = found.prompt[call];
  const cached = prompt === null || found.new[call] === null ? null : prompt - found.new[call];
  const other = base && baseCall !== undefined && state.arm !== facts.baseline ? base.prompt[baseCall] : null;
  const fact = (name, value) => el("span", {}, el("b", {}, value), ` ${name}`);
  const parts = [
    el("h3", {}, `Call ${index + 1} of ${total}`),
    el("div", { class: "numbers" },
      fact("tokens sent", number(prompt)), fact("of them from the cache", number(cached)), fact("tokens answered", number(found.completion[call])),
      other === null ? null : fact(`sent by ${facts.baseline}`, number(other)),
      found.repairs[call] ? fact("repairs", number(found.repairs[call])) : null),
    needsLine(call),
  ];
  const calls = record?.tasks[state.tasks.id[task]]?.arms[state.arm];
  if (!calls) parts.push(el("p", { class: "hint" }, whyNot(task)));
  else parts.push(...promptView(record, state.tasks.id[task], calls, index, call));
  return parts;
}

function needsLine(call) {
  const found = state.calls, missing = found.missing[call] || [], lost = new Set(found.lost[call] || []);
  if (found.needs[call] === null) return el("p", { class: "soft" }, "What this call needed was not measured.");
  if (!found.needs[call]) return el("p", {}, "Its action needed nothing that a tool had put out before.");
  const line = el("p", {}, `Its action had ${plural(found.needs[call], "need")}`);
  if (!missing.length) { line.append(", all in the prompt."); return line; }
  line.append(", not in the prompt: ");
  missing.forEach((name, place) => line.append(place ? ", " : "", el("code", { class: "bad" }, name), lost.has(name) ? " (lost: no pointer leads to it)" : " (a pointer leads to it)"));
  return line;
}

function whyNot(task) {
  if (facts.unassembled[state.arm]) return `The prompts of ${state.arm} are not shown: ${facts.unassembled[state.arm]}.`;
  if (!Object.keys(facts.shown).length) return "To see prompts, make the report with --data and the files that were replayed.";
  return `The prompts of this task are not in this file. Make it again with --task ${state.tasks.id[task]}.`;
}
