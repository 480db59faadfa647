"""Reads a predictions file and writes the summary of a run, in the formats of ``swebench``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import UnreadableInput
from suites.swebench.infra import ENVIRONMENT, classify
from suites.swebench.versions import DEFAULT, Version, is_5

Prediction = Mapping[str, Any]


def load_predictions(path: Path) -> list[dict[str, Any]]:
    """The predictions of a ``.json`` (list, or object of predictions) or ``.jsonl`` file, in file order.

    Only ``instance_id`` has to be there. Raises ``UnreadableInput``; a blank line in JSON Lines is an error.
    """
    if path.suffix not in (".json", ".jsonl"):
        raise UnreadableInput("Predictions path must be .json or .jsonl")
    text = path.read_text(encoding="utf-8")
    try:
        if path.suffix == ".jsonl":
            lines = text.split("\n")
            found: Any = [json.loads(line) for line in (lines[:-1] if lines[-1] == "" else lines)]
        else:
            found = json.loads(text)
    except ValueError as error:
        raise UnreadableInput(f"{path.name}: {error}") from error
    if isinstance(found, dict):
        found = list(found.values())
    if not isinstance(found, list):
        raise UnreadableInput("Predictions must be a list[prediction] or a dictionary[instance_id: prediction]")
    for prediction in found:
        if not isinstance(prediction, dict):
            raise UnreadableInput(f"Each prediction must be a dictionary, got {type(prediction)}")
        if "instance_id" not in prediction:
            raise UnreadableInput("Each prediction must contain 'instance_id'")
    return found


def by_instance(predictions: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Instance id -> prediction; of several for one instance the last counts."""
    return {prediction["instance_id"]: prediction for prediction in predictions}


def run_report(
    predictions: Mapping[str, Prediction],
    dataset: Sequence[str],
    run_id: str,
    reports: Mapping[str, str],
    *,
    logs: Mapping[str, str] | None = None,
    version: Version = DEFAULT,
) -> tuple[str, dict[str, Any]]:
    """(file name, summary) of a run, as ``swebench`` writes it without a docker client.

    ``reports`` maps an instance to the text of its ``report.json``; an instance that was run and has none, or a
    broken one, is an error. ``logs`` (5.x) serves to name likely causes. Raises ``UnreadableInput`` without any
    prediction, and for a broken report under 3.0.17, which has no such rule.
    """
    if not predictions:
        raise UnreadableInput("no predictions: the report is named after the model of the first one")
    ids = _sort_instances(predictions, dataset, reports, version)
    summary: dict[str, Any] = {
        "total_instances": len(dataset),
        "submitted_instances": len(predictions),
        **{f"{name}_instances": len(ids[name]) for name in ("completed", "resolved", "unresolved")},
        **{f"{name}_instances": len(ids[name]) for name in ("empty_patch", "error")},
        **{f"{name}_ids": sorted(ids[name]) for name in ids},
        "submitted_ids": sorted(predictions),
        "schema_version": 2,
    }
    if is_5(version):
        summary |= _causes(ids["unresolved"] | ids["error"], logs or {})
    else:
        summary |= {"unstopped_instances": 0, "unstopped_containers": [], "unremoved_images": []}
    model = str(next(iter(predictions.values()))["model_name_or_path"]).replace("/", "__")
    return f"{model}.{run_id}.json", summary


def _sort_instances(
    predictions: Mapping[str, Prediction], dataset: Sequence[str], reports: Mapping[str, str], version: Version
) -> dict[str, set[str]]:
    names = ("completed", "incomplete", "empty_patch", "resolved", "unresolved", "error")
    ids: dict[str, set[str]] = {name: set() for name in names}
    for instance in dataset:
        if instance not in predictions:
            ids["incomplete"].add(instance)
        elif predictions[instance].get("model_patch") in ("", None):
            ids["empty_patch"].add(instance)
        elif instance not in reports:
            ids["error"].add(instance)
        else:
            ids["completed"].add(instance)
            ids[_verdict(instance, reports[instance], version)].add(instance)
    return ids


def _verdict(instance: str, report: str, version: Version) -> str:
    """``resolved``, ``unresolved`` or ``error`` by the text of an instance report."""
    try:
        return "resolved" if json.loads(report)[instance]["resolved"] else "unresolved"
    except (ValueError, KeyError) as error:
        if version == "3.0.17":
            raise UnreadableInput(f"report of {instance}: {error}") from error
        return "error"


def _causes(failed: set[str], logs: Mapping[str, str]) -> dict[str, Any]:
    causes = {instance: classify(logs.get(instance, "")) for instance in sorted(failed)}
    found = {instance: cause for instance, cause in causes.items() if cause is not None}
    infra = [instance for instance, (_, tier) in found.items() if tier == ENVIRONMENT]
    ambiguous = [instance for instance in found if instance not in infra]
    return {
        "infra_failure_instances": len(infra),
        "ambiguous_failure_instances": len(ambiguous),
        "infra_failure_ids": infra,
        "ambiguous_failure_ids": ambiguous,
        "failure_reasons": {instance: reason for instance, (reason, _) in found.items()},
    }
