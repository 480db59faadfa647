"""Words that say nothing about what is asked for. They stay in the index and are left out of queries."""

from __future__ import annotations

_ENGLISH = """
a about after all also am an and any are as at be because been before being but by can could did do does doing don for
from get got had has have having he her here hers him his how i if in into is it its just let like ll m me might more
most must my no not of off on one only or other our ours out over own re s same shall she should so some such t than
that the their theirs them then there these they this those through to too under up us ve very was we were what when
where which while who whom whose why will with would you your yours
"""
_CHINESE = """
的 了 是 在 我 你 您 他 她 它 我们 你们 他们 和 与 及 或 就 都 也 很 吗 呢 吧 啊 呀 这 那 有 不 去 到 说 要 会
着 上 个 一 人
"""
_JAPANESE = "の は が を に で と も へ や か な だ です ます した する から まで より"

ENGLISH = frozenset(_ENGLISH.split())
CHINESE = frozenset(_CHINESE.split())
JAPANESE = frozenset(_JAPANESE.split())
ALL = ENGLISH | CHINESE | JAPANESE
