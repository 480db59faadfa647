"""Configuration: upstream names and defaults, strict ranges, errors that name key, value and the nearest name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentmem.config import Config
from agentmem.errors import ConfigError
from agentmem.settings.base import is_own
from agentmem.settings.table import table
from tests.golden import golden_cases

# keys that upstream resolves elsewhere (its manifest or its gateway), so that they are not in the golden defaults
ELSEWHERE = {"mode", "timezone", "server", "offload.disableThinking", "llm.disableThinking"}


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict) and value:
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


def own_keys(model: Any = Config, prefix: str = "") -> set[str]:
    found = set()
    for name, field in model.model_fields.items():
        key = f"{prefix}{field.alias or name}"
        if hasattr(field.annotation, "model_fields"):
            found |= own_keys(field.annotation, key + ".")
        elif is_own(field):
            found.add(key)
    return found


@pytest.mark.golden
@pytest.mark.parametrize("case", golden_cases("memory/config_default.jsonl"))
def test_defaults_are_those_of_upstream(case: dict[str, Any]) -> None:
    expected = flat(case["expected"]["config"])
    ours = flat(Config.parse(case["input"]["raw"]).resolved())
    assert {key: ours.get(key) for key in expected} == expected
    extra = set(ours) - set(expected) - own_keys()
    assert {key for key in extra if key not in ELSEWHERE and key.split(".")[0] not in ELSEWHERE} == set()


@pytest.mark.golden
@pytest.mark.parametrize("case", golden_cases("memory/config_parse.jsonl"))
def test_single_settings_resolve_as_upstream_or_are_refused(case: dict[str, Any]) -> None:
    if case.get("bug"):  # upstream takes a wrong value in silence; ours names it
        with pytest.raises(ConfigError):
            Config.parse(case["input"]["raw"])
        return
    ours = flat(Config.parse(case["input"]["raw"]).resolved())
    for key, value in case["expected"]["values"].items():
        assert ours.get(key) == value, key


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"recall": {"maxResult": 3}}, ["recall.maxResult", "did you mean recall.maxResults?"]),
        ({"recal": {}}, ["recal", "did you mean recall?"]),
        ({"llm": {"proxy": {"zzz": 1}}}, ["llm.proxy.zzz", "useMemorySystemUserKey"]),
        ({"recall": {"maxResults": 0}}, ["recall.maxResults", "0", "1"]),
        ({"recall": {"maxResults": True}}, ["recall.maxResults", "True"]),
        ({"recall": {"maxResults": "5"}}, ["recall.maxResults", "'5'"]),
        ({"recall": [1]}, ["recall", "[1]", "group"]),
        ({"recall": {"strategy": "magic"}}, ["recall.strategy", "magic", "hybrid"]),
        ({"recall": {"scoreThreshold": float("nan")}}, ["recall.scoreThreshold", "nan"]),
        ({"capture": {"cleanTime": "24:00"}}, ["capture.cleanTime", "24:00", "23:59"]),
        ({"pipeline": {"everyNConversations": 0}}, ["pipeline.everyNConversations", "0"]),
        ({"pipeline": {"l1IdleTimeoutSeconds": float("inf")}}, ["pipeline.l1IdleTimeoutSeconds", "inf"]),
        ({"offload": {"mildOffloadRatio": 0.9}}, ["offload", "mildOffloadRatio 0.9", "0.85"]),
        ({"llm": {"disableThinking": "qwen"}}, ["llm.disableThinking", "qwen", "deepseek"]),
        ({"timezone": "Mars/Base"}, ["timezone", "Mars/Base", "Europe/Lisbon"]),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_and_what_fits(values: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        Config.parse(values)
    for word in words:
        assert word in str(error.value)


def test_every_wrong_setting_is_listed_at_once() -> None:
    with pytest.raises(ConfigError, match=r"recall\.maxResults.*llm\.maxTokens"):
        Config.parse({"recall": {"maxResults": -1}, "llm": {"maxTokens": 0}})


def test_keys_are_never_shown() -> None:
    with pytest.raises(ConfigError) as error:
        Config.parse({"llm": {"apiKey": ["sk-secret"]}})
    assert "sk-secret" not in str(error.value)
    assert "sk-secret" not in json.dumps(Config.parse({"llm": {"apiKey": "sk-secret"}}).resolved())


def test_files_in_toml_and_json_and_what_is_wrong_with_them(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('promptMode = "code"\n[recall]\nmaxResults = 9\n')
    (tmp_path / "a.json").write_text('{"promptMode": "code", "recall": {"maxResults": 9}}')
    assert Config.load(tmp_path / "a.toml") == Config.load(tmp_path / "a.json")
    (tmp_path / "b.json").write_text("{")
    for name, word in (("b.json", "b.json"), ("missing.toml", "missing.toml")):
        with pytest.raises(ConfigError, match=word):
            Config.load(tmp_path / name)
    (tmp_path / "c.json").write_text('{"recall": {"maxResults": 0}}')
    with pytest.raises(ConfigError, match=r"c\.json.*recall\.maxResults"):
        Config.load(tmp_path / "c.json")


def test_python_names_and_the_upstream_alias_are_read_as_well() -> None:
    assert Config.parse({"prompt_mode": "code"}) == Config.parse({"prompts": {"mode": "code"}})


def test_settings_that_do_not_act_are_noted() -> None:
    config = Config.parse({"capture": {"l0l1RetentionDays": 2}, "embedding": {"provider": "openai", "apiKey": "k"}})
    assert config.retention_days == 0
    assert config.embedding_provider == "none"
    assert any("l0l1RetentionDays=2" in note for note in config.notes)
    assert any("baseUrl, model, dimensions" in note for note in config.notes)


def test_the_reference_page_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "config.md"
    assert page.read_text(encoding="utf-8") == table(), "run: python -m agentmem.settings.table > docs/config.md"
