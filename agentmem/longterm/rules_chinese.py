"""The rules for Chinese, of the same kinds as the English ones."""

from __future__ import annotations

import re

from agentmem.longterm.rules import Finding, Rule, Table

QUESTION = re.compile(r"[?？]|[吗呢][。！!]?$|^(?:请问|为什么|怎么|什么|哪|谁|多少|是不是|能不能|可不可以|有没有)")
FIRST_PERSON = re.compile(r"我|咱")
CORRECTION = re.compile(r"^(?:其实|不对|不是|更正|纠正|说错了|应该是|准确地说)|不再|改成|换成|改为|改主意|搞错")
CORRECTION_LEAD = re.compile(r"^(?:不对|更正|纠正(?:一下)?|说错了|不是(?=[，,]))[，,：:。]?\s*")
_STRICT = re.compile(r"无论如何|任何情况下|绝对不|绝不|永远不|所有(?:对话|回答|回复)|每次(?:对话|回答|回复)")
_EMPTY = re.compile(r"我(?:觉得|想想|知道了|明白|懂了|同意|希望|猜|看看|试试)")
_EVENT = re.compile(r"了|过|昨天|前天|上周|上个月|去年|今天")
_CONCRETE = re.compile(r"\d|昨天|今天|明天|上周|下周|[一二三四五六七八九十]月")

WORDS = {
    "please": r"^(?:请|麻烦)?(?:你)?",
    "now": r"(?:现在|目前|刚|最近)?",
    "much": r"(?:一直|也|很|最|特别|非常|比较|更|超|挺|不太|不)?",
    "kin": r"(?:妻子|丈夫|老公|老婆|先生|太太|爸|妈|父|母|哥|姐|弟|妹|儿子|女儿|孩子|家人|朋友|同事|老板|猫|狗|室友)",
    "we": r"(?:我们|咱们|我)",
}

INSTRUCTIONS = (
    Rule(
        "standing",
        "instruction",
        90,
        (r"{please}(?:以后|今后|从现在(?:起|开始)|从今(?:天|以后)|永远|始终|总是|一律|务必|每次)",),
    ),
    Rule("forbidden", "instruction", 75, (r"{please}(?:不要再|别再|不要|别|禁止|不准|不许)(?!客气|担心|急|怕|紧张)",)),
    Rule("address", "instruction", 85, (r"{please}(?:叫|称呼|喊)我",), slot="address"),
    Rule("reminder", "instruction", 80, (r"{please}(?:记住|牢记|注意)",)),
    Rule(
        "language",
        "instruction",
        80,
        (r"{please}(?:只|都|一律)?用.{1,6}(?:文|语|话)(?:回答|回复|写|说)",),
        slot="language",
    ),
)

PERSONA = (
    Rule("name", "persona", 90, (r"我(?:叫|姓|名叫)", r"我的(?:名字|姓名)(?:是|叫)"), slot="name"),
    Rule("age", "persona", 80, (r"我(?:今年|现在)?(?:已经)?(?:\d{1,3}|[一二三四五六七八九十]{1,4})岁",), slot="age"),
    Rule("home", "persona", 85, (r"我{now}(?:住在|定居在)", r"我.{0,4}(?:搬到|搬去|搬家到)"), slot="home"),
    Rule("origin", "persona", 80, (r"我(?:是)?(?:来自|从.{1,8}来|在.{1,8}(?:出生|长大))",)),
    Rule("work", "persona", 85, (r"我{now}在.{1,14}(?:工作|上班|任职|实习)", r"我的(?:工作|职业)是"), slot="work"),
    Rule("allergy", "persona", 90, (r"我对.{1,12}过敏",)),
    Rule("contact", "persona", 85, (r"我的(?P<what>邮箱|电话|手机号?|地址|生日|时区).{0,4}是",), slot="contact"),
    Rule("favourite", "persona", 75, (r"我最喜欢的(?P<what>.{1,8}?)是",), slot="favourite"),
    Rule("preference", "persona", 70, (r"我{much}(?:喜欢|爱|热爱|讨厌|偏好|偏爱|习惯|吃素|受不了)", r"我不(?:吃|喝)")),
    Rule("kin", "persona", 70, (r"我(?:的)?{kin}",)),
    Rule("has", "persona", 65, (r"我有(?:一|两|三|四|五|几|\d|个|只|条)",)),
    Rule("skill", "persona", 65, (r"我(?:会|擅长|精通)(?:说|讲|弹|写|做|用)?[^不]{1,10}",)),
    Rule("role", "persona", 75, (r"我是(?!说|想|不是|在|要|觉得)",)),
)

DECISIONS = (
    Rule(
        "decision",
        "episodic",
        80,
        (r"{we}(?:已经|最终|刚)?(?:决定|选择了|商定|约定|定下|确定)", r"^(?:那)?(?:就|我们就)(?:用|选|定)"),
    ),
    Rule("plan", "episodic", 70, (r"{we}.{0,6}?(?:打算|计划|准备|将|要去|想要|需要)",)),
)

RULES = Table(INSTRUCTIONS, WORDS), Table(PERSONA + DECISIONS, WORDS)


def find(sentence: str) -> Finding | None:
    """The rule that fits; None for what is not worth keeping."""
    order, fact = RULES
    found = order.find(sentence)
    if found:
        return Finding(found.rule, found.type, -1, found.slot) if _STRICT.search(sentence) else found
    if not FIRST_PERSON.search(sentence):
        concrete = len(sentence) >= 6 and _CONCRETE.search(sentence)
        return Finding("statement", "episodic", 60) if concrete else None
    found = fact.find(sentence)
    if found:
        return found
    if _EVENT.search(sentence) and len(sentence) >= 5:
        return Finding("event", "episodic", 65)
    if _EMPTY.search(sentence) or len(sentence) < 8:
        return None
    return Finding("statement", "episodic", 60)
