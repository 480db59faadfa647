"""A tiny data set of every suite, written in the layout of the hub or packed into archives. All of it is made up."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SWEBENCH = {
    "instance_id": "o__r-1",
    "repo": "o/r",
    "base_commit": "abc",
    "problem_statement": "It breaks.",
    "hints_text": "look in a.py",
    "patch": "diff --git a/a.py b/a.py",
    "test_patch": "diff --git a/t.py b/t.py",
    "version": "1.0",
    "FAIL_TO_PASS": '["t.py::new"]',
    "PASS_TO_PASS": '["t.py::old"]',
}
RULES = {
    "required": ["name", "year"],
    "unique_columns": ["name"],
    "eval_pipeline": {
        "name": {"preprocess": ["norm_str"], "metric": ["exact_match"], "criterion": None},
        "year": {"preprocess": ["extract_number"], "metric": ["number_near"], "criterion": 0.0},
    },
}
WIDESEARCH = [
    {"instance_id": "ws_en_001", "query": "List them.", "language": "en", "evaluation": json.dumps(RULES)},
    {"instance_id": "ws_zh_002", "query": "请列出。", "language": "zh", "evaluation": json.dumps(RULES)},
]
AALCR = {
    "document_category": "Academia",
    "document_set_id": "set_a",
    "question_id": "7",
    "question": "Which one?",
    "answer": "the second",
    "data_source_filenames": "Anna’s report.txt;Şehir – plan.txt",
    "data_source_urls": "u",
    "input_tokens": "57",
}
PERSONAMEM = {
    "persona_id": "0",
    "question_id": "q1",
    "question_type": "recall_user_shared_facts",
    "topic": "music",
    "user_question_or_message": "What should I play?",
    "correct_answer": "(c)",
    "all_options": "['(a) Jazz', '(b) Rock', '(c) Folk', \"(d) Pop's\"]",
    "shared_context_id": "ctx",
    "end_index_in_shared_context": "2",
}
CONTEXT = {
    "ctx": [
        {"role": "system", "content": "a persona"},
        {"role": "user", "content": "I like folk."},
        {"role": "assistant", "content": "Noted."},
    ]
}
LOCOMO = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Bob",
        "session_10_date_time": "2 pm on 3 May, 2023",
        "session_10": [{"speaker": "Bob", "dia_id": "D10:1", "text": "Bye", "blip_caption": "a door"}],
        "session_2_date_time": "1 pm on 1 May, 2023",
        "session_2": [{"speaker": "Ada", "dia_id": "D2:1", "text": "Hi"}],
    },
    "qa": [
        {"question": "When?", "answer": 2022, "evidence": ["D2:1"], "category": 2},
        {"question": "What did Bob paint?", "adversarial_answer": "a boat", "evidence": [], "category": 5},
    ],
}
LONGMEMEVAL = {
    "question_id": "a_abs",
    "question_type": "multi-session",
    "question": "How many?",
    "answer": 3,
    "question_date": "2023/05/30 (Tue) 23:40",
    "haystack_session_ids": ["s2", "s1"],
    "haystack_dates": ["2023/05/21 (Sun) 10:00", "2023/05/20 (Sat) 02:21"],
    "haystack_sessions": [
        [{"role": "user", "content": "later", "has_answer": True}],
        [{"role": "user", "content": "first"}, {"role": "assistant", "content": "ok"}],
    ],
    "answer_session_ids": ["s2"],
}
TEXTS = {"Anna's report.txt": "one\n", "Şehir - plan.txt": "two"}
GOLD = "Name,Year\nAlpha,2020\n"


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def jsonl(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def write_hub_layout(root: Path) -> Path:
    """Plain files with the names they have on the hub."""
    files = {
        "swebench/swebench_verified.jsonl": jsonl([SWEBENCH]),
        "widesearch/widesearch.jsonl": jsonl(WIDESEARCH),
        "widesearch/widesearch_gold/ws_en_001.csv": GOLD,
        "widesearch/widesearch_gold/ws_zh_002.csv": "Name,Country\nAlpha,Peru\n",
        "aalcr/AA-LCR_Dataset.csv": csv_text([AALCR]),
        "personamem/questions_32k.csv": csv_text([PERSONAMEM]),
        "personamem/shared_contexts_32k.jsonl": jsonl([CONTEXT]),
        "locomo/locomo10.json": json.dumps([LOCOMO]),
        "longmemeval/longmemeval_s_cleaned.json": json.dumps([LONGMEMEVAL]),
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    (root / "aalcr/extracted_text").mkdir()
    with zipfile.ZipFile(root / "aalcr/extracted_text/AA-LCR_extracted-text.zip", "w") as archive:
        for name, text in TEXTS.items():
            archive.writestr(f"lcr/Academia/set_a/{name}", text)
    return root


def write_packed_layout(root: Path) -> Path:
    """The same, gzipped and in tar archives, with names an old unpacker has mangled, and rebuilt PersonaMem files."""
    rebuilt = {name: value for name, value in PERSONAMEM.items() if name != "end_index_in_shared_context"}
    rebuilt |= {"all_options": json.dumps(["(a) Jazz", "(b) Rock", "(c) Folk", "(d) Pop's"])}
    rebuilt |= {"end_index_in_shared_context_upper_bound": "3"}
    files = {
        "swebench/swebench_verified_200rows.jsonl.gz": jsonl([SWEBENCH | {"FAIL_TO_PASS": ["t.py::new"]}]),
        "widesearch/widesearch.jsonl.gz": jsonl(WIDESEARCH),
        "aa_lcr/AA-LCR_Dataset.csv": "\ufeff" + csv_text([{"": "0", **AALCR}]),
        "personamem/questions_32k.reconstructed.csv.gz": csv_text([rebuilt]),
        "personamem/shared_contexts_32k.reconstructed.jsonl.gz": jsonl([CONTEXT]),
        "locomo/locomo10.json.gz": json.dumps([LOCOMO]),
        "longmemeval/longmemeval_s_single.json.gz": json.dumps([LONGMEMEVAL]),
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    mangled = {name.encode().decode("cp437"): text for name, text in TEXTS.items()}
    _tar(root / "aa_lcr/AA-LCR_extracted-text.tar.gz", {f"x/Academia/set_a/{n}": t for n, t in mangled.items()})
    _tar(root / "widesearch/widesearch_gold_135.tar.gz", {"widesearch_gold/ws_en_001.csv": GOLD})
    return root


def _tar(path: Path, members: Mapping[str, str]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
