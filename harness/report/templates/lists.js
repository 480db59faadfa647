// The lists of tasks and calls, and what the address behind # says is open.

const state = { tasks: null, calls: null, arm: null, task: null, call: null };

const figures = (task, arm = state.arm) => state.tasks.arms[arm][task];
const adjusted = (found) => (found ? found[0] + (found[1] || 0) : null);
const taskKey = (task) => `${state.tasks.sessions[state.tasks.session[task]]}/${state.tasks.id[task]}`
  + (state.tasks.attempt[task] ? `#${state.tasks.attempt[task]}` : "");

function share(task) {
  const base = adjusted(figures(task, facts.baseline)), own = adjusted(figures(task));
  return base && own !== null ? own / base : null;
}

function taskCells(task) {
  const own = figures(task), ratio = share(task);
  const hidden = own ? own[4] : null;
  return [
    el("span", {}, facts.shown[taskKey(task)] ? "● " : "", state.tasks.id[task]),
    `${state.tasks.sessions[state.tasks.session[task]]} · ${state.tasks.position[task] + 1}`,
    own ? short(adjusted(own)) : "not run",
    el("span", { class: ratio > 1 ? "bad" : "" }, ratio === null ? "" : `${(100 * ratio).toFixed(1)} %`),
    el("span", { class: hidden ? "bad" : "soft" }, hidden === null ? "" : number(hidden)),
    own ? outcome(own) : "",
  ];
}

function outcome(own) {
  if (own[8] === "errored") return el("span", { class: "bad", title: own[11] || "" }, "errored");
  if (own[9] === null) return el("span", { class: "soft" }, own[8] === "scored" ? "" : own[8]);
  return own[9] ? el("span", { class: "good" }, "passed") : el("span", { class: "bad" }, "failed");
}

const orders = {
  "in order": () => 0,
  "most tokens": (a, b) => adjusted(figures(b)) - adjusted(figures(a)),
  "worst against the baseline": (a, b) => share(b) - share(a),
  "most needs not visible": (a, b) => (figures(b)?.[4] || 0) - (figures(a)?.[4] || 0),
  "most repairs": (a, b) => (figures(b)?.[1] || 0) - (figures(a)?.[1] || 0),
};

function selectTasks() {
  const wanted = $("task-filter").value.toLowerCase();
  const only = $("task-only").value;
  const kept = state.tasks.id.map((_, task) => task).filter((task) => {
    const own = figures(task);
    if (wanted && !taskKey(task).toLowerCase().includes(wanted)) return false;
    if (only === "needs") return own && own[4] > 0;
    if (only === "prompts") return facts.shown[taskKey(task)];
    if (only === "failed") return own && own[9] === false;
    return true;
  });
  kept.sort((a, b) => orders[$("task-order").value](a, b) || a - b);
  taskList.show(kept, state.task);
}

const option = (value, text = value) => el("option", { value }, text);

function taskTools() {
  $("task-tools").replaceChildren(
    choice("arm", facts.arms, state.arm, chooseArm, (index) => `a${index}`),
    el("input", { type: "search", id: "task-filter", placeholder: "Find a task", "aria-label": "Find a task", oninput: selectTasks }),
    el("select", { id: "task-only", "aria-label": "Which tasks", onchange: selectTasks },
      option("all", "all tasks"), option("needs", "with needs not visible"), option("failed", "failed"), option("prompts", "with prompts")),
    el("select", { id: "task-order", "aria-label": "Order of the tasks", onchange: selectTasks }, ...Object.keys(orders).map((name) => option(name))),
  );
}

// The columns of one arm's ledger, with the task of every call spelled out.
async function ledger(arm) {
  const found = await unpack(`calls-${facts.arms.indexOf(arm)}`);
  if (found && !found.of) {
    found.of = new Int32Array(found.prompt.length);
    found.first = new Map();
    let at = 0;
    for (let run = 0; run < found.task.length; run += 2) {
      if (!found.first.has(found.task[run])) found.first.set(found.task[run], []);
      for (let left = found.task[run + 1]; left > 0; left--, at++) {
        found.of[at] = found.task[run];
        found.first.get(found.task[run]).push(at);
      }
    }
  }
  return found;
}

const measured = (value) => (value === null ? el("small", {}, "not measured") : short(value));

function callCells(call) {
  const found = state.calls, missing = found.missing[call] || [], purpose = found.purpose[call];
  return [
    number(call + 1),
    state.tasks.id[found.of[call]] + (purpose ? ` (${purpose})` : ""),
    measured(found.prompt[call]),
    measured(found.new[call]),
    measured(found.completion[call]),
    el("span", { class: missing.length ? "bad" : "" }, missing.join(", ")),
  ];
}

function selectCalls() {
  const only = $("call-only").value, found = state.calls;
  const kept = [];
  for (let call = 0; call < found.prompt.length; call++) {
    if (only === "missing" && !found.missing[call]) continue;
    if (only === "lost" && !found.lost[call]) continue;
    if (only === "memory" && !found.purpose[call]) continue;
    if (only === "task" && found.of[call] !== state.task) continue;
    kept.push(call);
  }
  callList.show(kept);
  $("call-count").textContent = `${plural(kept.length, "call")} of ${state.arm}`;
}

function callTools() {
  $("call-tools").replaceChildren(
    el("select", { id: "call-only", "aria-label": "Which calls", onchange: selectCalls },
      option("all", "all calls"), option("missing", "with a need not visible"), option("lost", "with a need lost"),
      option("memory", "of the memory itself"), option("task", "of the open task")),
    el("span", { id: "call-count", class: "soft", role: "status" }),
  );
}

async function chooseArm(arm) {
  state.arm = arm;
  state.calls = await ledger(arm);
  selectTasks();
  selectCalls();
  if (state.task !== null) await openTask(state.task, state.call);
}

function openCall(call) {
  const task = state.calls.of[call];
  openTask(task, agentCalls(state.calls, task).indexOf(call), true);
}

function writeAddress() {
  const part = encodeURIComponent;
  history.replaceState(null, "", `#t=${part(taskKey(state.task))}&a=${part(state.arm)}&c=${state.call}`);
}

async function readAddress() {
  const found = new URLSearchParams(location.hash.slice(1));
  const task = state.tasks.id.findIndex((_, index) => taskKey(index) === found.get("t"));
  if (task < 0) return;
  if (facts.arms.includes(found.get("a")) && found.get("a") !== state.arm) {
    state.task = null;
    await chooseArm(found.get("a"));
    taskTools();
    selectTasks();
  }
  await openTask(task, Number(found.get("c") || 0), true);
}

let taskList, callList, facts;

async function start() {
  facts = JSON.parse($("facts").textContent);
  state.arm = facts.focus;
  state.tasks = await unpack("tasks-data");
  taskTools();
  taskList = new VirtualList($("task-list"), {
    label: "Tasks", widths: "minmax(12rem, 2fr) 6rem 6rem 7rem 6rem 5rem", narrow: "minmax(0, 1fr) 4.6rem 4.2rem",
    columns: [["task", "name"], ["session", "wide-only"], ["tokens", "n"], [`of ${facts.baseline}`, "n"], ["not visible", "n wide-only"], ["outcome", "wide-only"]],
    cells: taskCells, open: (task) => openTask(task, 0, true), describe: (task) => taskKey(task),
  });
  callTools();
  callList = new VirtualList($("call-list"), {
    label: "Calls", widths: "4.5rem minmax(10rem, 2fr) 6rem 6rem 5rem minmax(8rem, 2fr)", narrow: "3.4rem minmax(0, 1fr) 4.6rem",
    columns: [["call", "n"], ["task", "name"], ["prompt", "n"], ["new", "n wide-only"], ["answer", "n wide-only"], ["needs not visible", "wide-only"]],
    cells: callCells, open: openCall, describe: (call) => `call ${call + 1} of ${state.tasks.id[state.calls.of[call]]}`,
  });
  await chooseArm(state.arm);
  await readAddress();
  addEventListener("hashchange", readAddress);
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start();
