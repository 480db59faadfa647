"""The fixed texts of the conversation: system prompt, task prompt, and the last command of a task."""

from __future__ import annotations

from agentmem.messages import Message
from suites.swebench.mini.environment import VIRTUAL_ROOT
from suites.swebench.mini.tasks import MiniTask

SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
TASK_TAG = "<pr_description>"

SYSTEM = """\
You solve programming tasks with a shell. Every answer has two parts: a THOUGHT that says what you want to find out or
change and why, then exactly one fenced bash block with one command. You see what the command printed before you
answer again.

<format_example>
THOUGHT: What I know, and what I do next.

```bash
the_command
```
</format_example>
"""

_TASK = """\
{tag}
{statement}</pr_description>

<instructions>
The repository of `{repo}` is in {root}, which is the working directory of every command. Mend the sources so that what
is described above works; leave the tests as they are. There is no network, and nothing needs to be installed: the
tests run with `python -m unittest`.

- One command at a time. Directory changes and variables do not last from one command to the next.
- Output above 10,000 characters is cut in the middle.
- Find the cause first, then change as little as possible, then run the tests again.
- When everything passes, hand in with exactly this command:

```bash
{submit}
```
</instructions>
"""


def system_message() -> Message:
    """The system message, the same for every task."""
    return Message("system", SYSTEM)


def task_message(task: MiniTask) -> Message:
    """The message that opens a task."""
    text = _TASK.format(
        tag=TASK_TAG, statement=task.problem_statement, repo=task.repo, root=VIRTUAL_ROOT, submit=SUBMIT
    )
    return Message("user", text, kind="task")
