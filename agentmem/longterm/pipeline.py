"""The levels of one memory put together: who extracts and who writes follows from the configuration and the model."""

from __future__ import annotations

from pathlib import Path

from agentmem.config import Config
from agentmem.errors import ConfigError
from agentmem.llm.protocol import LanguageModel
from agentmem.longterm.candidates import TextEmbedder
from agentmem.longterm.clock import Clock
from agentmem.longterm.dedup import Decider, LlmDecider, RulesDecider
from agentmem.longterm.extraction import Extractor
from agentmem.longterm.extractor_llm import LlmExtractor
from agentmem.longterm.extractor_rules import RulesExtractor
from agentmem.longterm.l1 import L1Result, L1Runner
from agentmem.longterm.persona import PersonaBuilder, PersonaResult, PersonaRunner
from agentmem.longterm.persona_llm import LlmPersonaBuilder
from agentmem.longterm.persona_rules import RulesPersonaBuilder
from agentmem.longterm.profile import Profile
from agentmem.longterm.scenes import SceneBuilder, SceneResult, SceneRunner
from agentmem.longterm.scenes_llm import LlmSceneBuilder
from agentmem.longterm.scenes_rules import RulesSceneBuilder
from agentmem.settings.longterm import PromptMode
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Scope


class Pipeline:
    """Does the work of each level; see ``scheduler.Tasks``. ``model`` serves L1, ``writer`` L2 and L3."""

    def __init__(
        self,
        root: Path,
        store: MemoryStore,
        config: Config,
        clock: Clock,
        model: LanguageModel | None = None,
        writer: LanguageModel | None = None,
        embedder: TextEmbedder | None = None,
    ) -> None:
        self.root = root
        self.store = store
        self.config = config
        self.clock = clock
        self.model = chosen(config.extraction.extractor, model, "extraction.extractor")
        self.writer = chosen(config.persona.builder, writer or model, "persona.builder")
        self.l1 = L1Runner(
            store,
            config.extraction,
            config.extraction.prompt_mode or config.prompt_mode,
            self._extractor(),
            self._decider(),
            clock,
            config.embedding.conflict_recall_top_k,
            embedder,
        )

    @property
    def writing_mode(self) -> PromptMode:
        """The mode of scenes and persona."""
        return self.config.persona.prompt_mode or self.config.prompt_mode

    def profile(self, scope: Scope) -> Profile:
        """The files of a scope."""
        return Profile(self.root, scope)

    def extract(self, scope: Scope, session: str) -> L1Result:
        """See ``Tasks``."""
        return self.l1.run(scope, session) if self.config.extraction.enabled else L1Result()

    def waiting(self, scope: Scope, session: str) -> int:
        """See ``Tasks``."""
        return self.l1.waiting(scope, session) if self.config.extraction.enabled else 0

    def write_scenes(self, scope: Scope) -> SceneResult:
        """See ``Tasks``."""
        return self._scenes(scope).run(scope, self.profile(scope))

    def scenes_waiting(self, scope: Scope) -> int:
        """Changed atoms that no scene run has seen."""
        return self._scenes(scope).waiting(scope)

    def write_persona(self, scope: Scope, force: bool = False) -> PersonaResult:
        """See ``Tasks``."""
        runner = PersonaRunner(
            self.store, self.config.persona, self.writing_mode, self._persona_builder(scope), self.clock
        )
        return runner.run(scope, self.profile(scope), force)

    def _scenes(self, scope: Scope) -> SceneRunner:
        return SceneRunner(self.store, self.config.persona, self._scene_builder(scope), self.clock)

    def _extractor(self) -> Extractor:
        if self.model is None:
            return RulesExtractor()
        return LlmExtractor(self.model, self.config.extraction.timeout_ms / 1000)

    def _decider(self) -> Decider:
        if self.model is None:
            return RulesDecider()
        return LlmDecider(self.model, self.config.extraction.timeout_ms / 1000)

    def _scene_builder(self, scope: Scope) -> SceneBuilder:
        if self.writer is None:
            return RulesSceneBuilder(self.store, scope, self.config.persona)
        return LlmSceneBuilder(self.writer, self.config.persona, self.writing_mode)

    def _persona_builder(self, scope: Scope) -> PersonaBuilder:
        if self.writer is None:
            return RulesPersonaBuilder(self.store, scope, self.writing_mode)
        return LlmPersonaBuilder(self.writer, self.config.persona, self.writing_mode)


def chosen(wish: str, model: LanguageModel | None, setting: str) -> LanguageModel | None:
    """The model to use, or None for the rules. Raises ``ConfigError`` when a model is asked for and there is none."""
    if wish == "rules":
        return None
    if wish == "llm" and model is None:
        raise ConfigError(f"{setting}=llm needs a model: set llm.enabled, llm.baseUrl and llm.model, or pass one")
    return model
