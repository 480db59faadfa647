"""Embedded tasks: small generated repositories with a planted bug, and a scripted agent that really works on them.

Everything recorded here is labelled ``scripted agent``: no language model takes part.
"""

from suites.swebench.mini.agent import ScriptedAgent
from suites.swebench.mini.generate import generate
from suites.swebench.mini.grade import Grade, grade
from suites.swebench.mini.record import record, row, run_task
from suites.swebench.mini.tasks import MiniTask, write_repo, write_task_folder

__all__ = [
    "Grade",
    "MiniTask",
    "ScriptedAgent",
    "generate",
    "grade",
    "record",
    "row",
    "run_task",
    "write_repo",
    "write_task_folder",
]
