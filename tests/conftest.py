"""What every test gets: a cache folder of its own, so that nothing depends on what ran before."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    pytest.MonkeyPatch().setenv("AGENTMEM_CACHE", str(tmp_path_factory.mktemp("cache")))
