"""Extraction by a language model: one call, checked against the messages it was shown."""

from __future__ import annotations

from agentmem.errors import BadAnswer
from agentmem.llm.protocol import Ask, LanguageModel
from agentmem.longterm.extraction import Extracted, Window
from agentmem.longterm.extraction_answer import drafts_of, parse_scenes
from agentmem.longterm.prompts import extraction_messages
from agentmem.messages import Message


class LlmExtractor:
    """``timeout`` is in seconds."""

    name = "llm"

    def __init__(self, model: LanguageModel, timeout: float = 180.0) -> None:
        self.model = model
        self.timeout = timeout

    def extract(self, window: Window) -> Extracted:
        """See ``Extractor``. An answer that is cut off or cannot be read raises ``BadAnswer``: nothing is taken of it,
        since the caller could not tell which messages it covers."""
        system, user = extraction_messages(window)
        ask = Ask((Message("system", system), Message("user", user)), task="l1-extraction", timeout=self.timeout)
        reply = self.model.ask(ask)
        try:
            scenes = parse_scenes(reply.text)
        except BadAnswer as error:
            ended = " (finish reason length)" if reply.finish == "length" else ""
            raise BadAnswer(f"l1-extraction: {error}{ended}") from error
        return drafts_of(scenes, window)
