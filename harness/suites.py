"""The benchmarks a live run can play, by name; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from harness.errors import UnknownName
from harness.protocols import Suite, SuiteContext

SUITES = {
    "swebench-sdist": "suites.swebench.sdist.suite:Sdist",
    "swebench": "suites.swebench.official:Official",
    "aalcr": "suites.aalcr.environment:AaLcr",
    "widesearch": "suites.widesearch.environment:WideSearch",
    "personamem": "suites.personamem.environment:PersonaMem",
    "locomo": "suites.locomo.environment:LoCoMo",
    "longmemeval": "suites.longmemeval.environment:LongMemEval",
    "swebench-mini": "suites.swebench.mini.suite:SweBenchMini",
    "aalcr-mini": "suites.aalcr.mini.suite:AaLcrMini",
    "widesearch-mini": "suites.widesearch.mini.suite:WideSearchMini",
    "personamem-mini": "suites.personamem.mini.suite:PersonaMemMini",
}


def open_suite(name: str, context: SuiteContext) -> Suite:
    """The suite of that name over the data of the context. Raises ``UnknownName`` and ``DataError``."""
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    module, _, cls = SUITES[name].partition(":")
    suite: Suite = getattr(import_module(module), cls)(context)
    return suite
