"""Where searches and pages come from: Wikipedia (no key), Brave (a key), or a frozen folder of local pages."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Protocol

from harness.errors import DataError, EnvironmentFailed, UnknownName, UsageError
from suites.answering import Library

SECONDS = 30.0
MOST_BYTES = 5_000_000
AGENT = "agentmem-bench (research; one request at a time)"
BRAVE_KEY = "BRAVE_API_KEY"
SKIPPED = frozenset({"script", "style", "noscript", "svg", "head", "template"})
BLOCKS = frozenset({"p", "div", "br", "tr", "li", "h1", "h2", "h3", "h4", "h5", "h6", "table", "section", "article"})


@dataclass(frozen=True, slots=True)
class Found:
    """One search result."""

    title: str
    url: str
    excerpt: str


class Provider(Protocol):
    """A source of searches and pages."""

    name: str

    def search(self, query: str, count: int) -> list[Found]:
        """The best results. Raises ``EnvironmentFailed`` when the source does not answer."""

    def page(self, url: str) -> str:
        """A page as text. Raises ``LookupError`` for a page that is not there."""


class Wikipedia:
    """The search of Wikipedia in the language of the task; needs no key."""

    name = "wikipedia"

    def __init__(self, language: str = "en", base: str = "https://{language}.wikipedia.org") -> None:
        self._base = base.format(language=language)

    def search(self, query: str, count: int) -> list[Found]:
        """By the API's full-text search."""
        asked = {"action": "query", "list": "search", "format": "json", "srsearch": query, "srlimit": str(count)}
        found = _json(f"{self._base}/w/api.php?{urllib.parse.urlencode(asked)}")
        rows = found.get("query", {}).get("search", [])
        return [Found(row["title"], self._address(row["title"]), text_of(row.get("snippet", ""))) for row in rows]

    def page(self, url: str) -> str:
        """Any page by its address."""
        return fetch_page(url)

    def _address(self, title: str) -> str:
        return f"{self._base}/wiki/{urllib.parse.quote(title.replace(' ', '_'))}"


class Brave:
    """The web search of Brave; its key stands in the variable BRAVE_API_KEY."""

    name = "brave"

    def __init__(self, base: str = "https://api.search.brave.com") -> None:
        self._base = base
        self._key = os.environ.get(BRAVE_KEY, "")
        if not self._key:
            raise UsageError(f"the provider brave needs a key in the variable {BRAVE_KEY}")

    def search(self, query: str, count: int) -> list[Found]:
        """By the API's web search."""
        asked = urllib.parse.urlencode({"q": query, "count": str(min(count, 20))})
        found = _json(f"{self._base}/res/v1/web/search?{asked}", {"X-Subscription-Token": self._key})
        rows = found.get("web", {}).get("results", [])
        return [Found(row.get("title", ""), row["url"], text_of(row.get("description", ""))) for row in rows]

    def page(self, url: str) -> str:
        """Any page by its address."""
        return fetch_page(url)


class Frozen:
    """A folder of pages (.html, .md, .txt); the address of a page is ``page://`` and its path in the folder."""

    name = "frozen"

    def __init__(self, folder: Path) -> None:
        files = sorted(path for path in folder.rglob("*") if path.suffix in (".html", ".md", ".txt"))
        if not files:
            raise DataError(f"{folder} holds no .html, .md or .txt page")
        self._texts = {f"page://{path.relative_to(folder).as_posix()}": _local(path) for path in files}
        self._library = Library(self._texts)

    def search(self, query: str, count: int) -> list[Found]:
        """By the words of the pages."""
        hits = self._library.search(query, 4 * count)
        best: dict[str, Found] = {}
        for hit in hits:
            best.setdefault(hit.name, Found(_title(self._texts[hit.name]), hit.name, hit.excerpt))
        return list(best.values())[:count]

    def page(self, url: str) -> str:
        """A page of the folder."""
        if url not in self._texts:
            raise LookupError(f"there is no page {url!r}; search_global lists what there is")
        return self._texts[url]


def provider(name: str, language: str, pages: str | None) -> Provider:
    """The provider of that name. ``pages`` is the folder of ``frozen``. Raises ``UnknownName`` and ``UsageError``."""
    if name == "wikipedia":
        return Wikipedia(language)
    if name == "brave":
        return Brave()
    if name == "frozen":
        if not pages:
            raise UsageError("the provider frozen needs a folder: --option pages=DIR")
        return Frozen(Path(pages))
    raise UnknownName("search provider", name, ("wikipedia", "brave", "frozen"))


def fetch_page(url: str) -> str:
    """A web page as text. Raises ``LookupError`` when it cannot be had."""
    if not url.startswith(("http://", "https://")):
        raise LookupError(f"{url!r} is no web address")
    try:
        return text_of(_get(url, {}))
    except EnvironmentFailed as error:
        raise LookupError(str(error)) from error


def text_of(html: str) -> str:
    """The readable text of HTML: a line a block, cells of a row separated by ``|``."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    return "\n".join(line for line in lines if line)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._skipping = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._skipping += tag in SKIPPED
        if tag in BLOCKS:
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        if tag in SKIPPED and self._skipping:
            self._skipping -= 1
        elif tag in BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self.parts.append(data)


def _get(url: str, headers: Mapping[str, str]) -> str:
    request = urllib.request.Request(url, headers={"User-Agent": AGENT, **headers})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            body: bytes = response.read(MOST_BYTES)
            return body.decode(response.headers.get_content_charset() or "utf-8", "replace")
    except (urllib.error.URLError, TimeoutError, LookupError, OSError) as error:
        raise EnvironmentFailed(f"{url}: {error}") from error


def _json(url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    text = _get(url, headers or {})
    try:
        found = json.loads(text)
    except ValueError as error:
        raise EnvironmentFailed(f"{url} did not answer with JSON: {error}") from error
    return found if isinstance(found, dict) else {}


def _local(path: Path) -> str:
    text = path.read_text(encoding="utf-8", errors="replace")
    return text_of(text) if path.suffix == ".html" else text


def _title(text: str) -> str:
    return text.strip().partition("\n")[0].lstrip("# ")[:120]
