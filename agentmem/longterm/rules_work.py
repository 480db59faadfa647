"""The rules of the work mode (`promptMode: code`): tasks, methods, artifacts and facts. English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentmem.longterm.rules import Finding, Rule, Table

_MUST = r"(?:need(?:s)? to|ha(?:ve|s) to|must|should|will|going to|to-?do)"
_UNTIL = r"(?:by|before|until|this week|next week)"
_WORK = r"(?:fix|write|add|migrate|release|deploy|refactor|review|test|update|remove|build)"
ARTIFACT = re.compile(
    r"(?P<pr>\b(?:PR|pull request|merge request) ?[#!]?\d+)|(?P<issue>\b(?:issue|ticket|bug) ?#?\d+|\b[A-Z]{2,6}-\d+\b)"
    r"|(?P<branch>\bbranch [`'\"]?[\w./-]+)|(?P<doc>https?://\S+|\b[\w./-]+\.(?:md|docx?|pdf|pptx|xlsx|ipynb)\b)",
    re.IGNORECASE,
)
_STATUS = (
    ("blocked", re.compile(r"\bblocked\b|\bwaiting (?:for|on)\b|卡住|阻塞", re.IGNORECASE)),
    (
        "done",
        re.compile(
            r"\b(?:done|finished|completed|merged|shipped|fixed|resolved|closed)\b|完成了|已完成|修好", re.IGNORECASE
        ),
    ),
    ("cancelled", re.compile(r"\b(?:cancelled|canceled|dropped|abandoned)\b|取消", re.IGNORECASE)),
    ("deferred", re.compile(r"\b(?:deferred|postponed|later|next sprint)\b|推迟|延期", re.IGNORECASE)),
    ("doing", re.compile(r"\b(?:working on|in progress|started)\b|正在|进行中", re.IGNORECASE)),
)
_OWNER = re.compile(
    r"\b(?:assigned to|owned by|owner is|owner:) (?P<a>[A-Z]\w+)|\b(?P<b>[A-Z]\w+) (?:owns|is responsible)\b"
)

TABLE = Table(
    (
        Rule(
            "method",
            "work_method",
            90,
            (
                r"\b(?:we|you|always|never)\b.{0,40}\b(?:always|never)\b",
                r"^(?:please )?(?:always|never|from now on)\b",
                r"\b(?:by convention|our (?:policy|convention|process|rule|style)|as a rule|best practice)\b",
                r"\b(?:must not|may not|do not|don't) (?:commit|push|merge|deploy|edit|delete|use|import|touch|log)\b",
                r"(?:规范|约定|流程|原则|一律|必须|禁止|不要|不得|统一)",
            ),
        ),
        Rule(
            "task",
            "work_task",
            85,
            (
                r"\bTODO\b|\bFIXME\b|\bdeadline\b|\bdue (?:on|by|date)\b|\bassigned to\b|\bblocked (?:on|by)\b",
                rf"\b(?:we|I|you|they|team)\b.{{0,20}}\b{_MUST} \w+.{{0,120}}\b{_UNTIL}\b",
                rf"\b(?:we|I|team) {_MUST} {_WORK}\b",
                r"(?:待办|截止|负责人|需要.{1,30}(?:完成|修复|上线)|下周.{0,20}(?:上线|发布|完成))",
            ),
        ),
        Rule(
            "decision",
            "work_fact",
            85,
            (
                r"\b(?:we|I)(?:'ve| have)? (?:decided|agreed|chose|chosen|settled on|switched to|moved to|migrated)\b",
                r"\blet's (?:go with|use|switch to)\b",
                r"(?:决定|选择了|改用|迁移到|切换到)",
            ),
        ),
        Rule(
            "fact",
            "work_fact",
            75,
            (
                r"\b(?:the|our|this)\b.{1,60}\b(?:is|are|uses?|runs?|lives?|needs?|depends?|requires?|supports?|fails?|returns?)\b",
                r"\b(?:version|port|database|schema|endpoint|service|pipeline|module|repo|cluster|region|limit|timeout)\b.*\d",
                r"(?:项目|服务|系统|模块|接口|数据库|版本|端口|仓库).{0,20}(?:是|用|使用|运行|依赖|位于)",
            ),
        ),
    ),
    {},
    re.IGNORECASE,
)


def find(sentence: str) -> Finding | None:
    """The rule that fits; a sentence that only names an artifact is one."""
    found = TABLE.find(sentence)
    if found is None and ARTIFACT.search(sentence) and len(sentence.split()) >= 3:
        return Finding("artifact", "work_artifact", 80)
    return found


def metadata(kind: str, sentence: str, days: tuple[str, ...]) -> Mapping[str, str]:
    """The keys that upstream keeps for a type, as far as the sentence says them."""
    if kind == "work_artifact":
        match = ARTIFACT.search(sentence)
        if match and match.lastgroup:
            return {"artifact_type": match.lastgroup, "artifact_ref": match.group().strip()}
    if kind == "work_task":
        status = next((name for name, pattern in _STATUS if pattern.search(sentence)), "todo")
        owner = _OWNER.search(sentence)
        found = {"status": status, "owner": (owner["a"] or owner["b"]) if owner else "", "deadline": "".join(days[-1:])}
        return {key: value for key, value in found.items() if value}
    if kind == "work_method":
        forbidden = re.search(r"\b(?:never|not|don't)\b|禁止|不要|不得", sentence, re.IGNORECASE)
        return {"scope": "project", "method_type": "constraint" if forbidden else "principle"}
    return {}
