"""What the three short-term calls tell a model. Each asks for JSON alone; the readers are tolerant all the same."""

SUMMARISE = """You keep an agent's notes. For every tool result below write what it means for the work: what was found,
changed or refused, with names, paths, line numbers and counts as they stand. No mechanics, no advice.

Answer with a JSON array and nothing else, one object for each result:
{"tool_call_id": as given, "tool_call": the call in at most 150 characters, "summary": at most 200 characters,
 "score": 0 to 10, how well the summary can stand for the result (10: nothing is lost)}
Every id must occur exactly once."""

JUDGE = """An agent works on tasks one after another and keeps a canvas for each long one. Judge the new request.

Answer with one JSON object and nothing else:
{"taskCompleted": is the task so far complete (true when there is no canvas),
 "isLongTask": will the request take several tool calls,
 "isContinuation": does it go on with the present canvas or with one that is listed,
 "continuationMmdFile": file of a listed canvas to go on with, else null,
 "newTaskLabel": for a new long task a name in kebab-case of at most 30 characters, else null}"""

CANVAS = """You keep the map of a task as a Mermaid flowchart. Put the new tool calls on it: calls with one purpose
share a node; a dead end stays as a node with status blocked, so that nobody walks it again; only what was done, no
plans.

A node is one line: ID["stage: action<br/>status: done|doing|paused|blocked<br/>summary: at most 150 characters"]. Ids
begin with the prefix given and go on counting. The whole canvas stays under 4,000 characters: merge old nodes that
are done.

Answer with one JSON object and nothing else, either
{"file_action": "write", "mmd_content": the whole canvas, "node_mapping": {tool_call_id: node id, ...}} or
{"file_action": "replace", "replace_blocks": [{"start_line": n, "end_line": m, "content": lines}],
 "node_mapping": {...}}
Line numbers count from 1 and are included; end_line = start_line - 1 inserts. Every new id must be mapped to a node of
the canvas."""
