"""Scenes (L2): what builds them stands behind one protocol, and one runner feeds it, limits it and moves the cursor.

Input is what changed among the atoms of a scope since the cursor, in batches; the cursor moves when the files are
written, and not when a builder failed. memory_core.md B11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from agentmem.longterm.atom_types import rank
from agentmem.longterm.citations import cited_ids, fitted, supported
from agentmem.longterm.clock import Clock, iso
from agentmem.longterm.keys import state_key
from agentmem.longterm.profile import Profile
from agentmem.longterm.scene_format import Scene
from agentmem.settings.longterm import Persona as PersonaSettings
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Atom, Scope

SUMMARY_CHARS = 160


@dataclass(frozen=True, slots=True)
class Built:
    """What a builder made of a batch: all scenes as they shall be, the state it wants to find next time, and why the
    persona should be written anew, if it asks for that."""

    scenes: tuple[Scene, ...]
    state: dict[str, Any]
    persona_request: str | None = None


class SceneBuilder(Protocol):
    """Turns changed atoms into scenes."""

    name: str

    def build(
        self, profile: Profile, scenes: Sequence[Scene], changed: Sequence[Atom], state: dict[str, Any], now: str
    ) -> Built:
        """``scenes`` are the present ones, ``changed`` live and superseded atoms. Raises ``ModelError``; the runner
        then puts the files back."""
        ...


@dataclass(frozen=True, slots=True)
class SceneResult:
    """What a run did. ``changed`` are file names; ``unsupported`` lines rested on nothing and ``over`` lines were over
    the size limit; ``merged`` scenes were over the cap."""

    atoms: int = 0
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unsupported: int = 0
    over: int = 0
    merged: int = 0

    @property
    def skipped(self) -> bool:
        """True when nothing had changed."""
        return self.atoms == 0


class SceneRunner:
    """Runs one scope at a time."""

    def __init__(self, store: MemoryStore, settings: PersonaSettings, builder: SceneBuilder, clock: Clock) -> None:
        self.store = store
        self.settings = settings
        self.builder = builder
        self.clock = clock

    def waiting(self, scope: Scope) -> int:
        """Atoms that changed since the last run, at most one batch and one."""
        cursor = int((self.store.state(state_key("profile", scope)) or {}).get("scene_cursor", 0))
        return len(self.store.atoms_changed_since(scope, cursor, self.settings.batch_atoms + 1))

    def run(self, scope: Scope, profile: Profile) -> SceneResult:
        """Work through everything that changed, batch by batch. Raises what the builder raises; batches before stay."""
        total = SceneResult()
        if self.waiting(scope):
            profile.back_up("scenes", self.settings.scene_backup_count)
        while True:
            result = self._batch(scope, profile)
            if result.skipped:
                return total
            total = SceneResult(
                atoms=total.atoms + result.atoms,
                changed=tuple(dict.fromkeys(total.changed + result.changed)),
                removed=tuple(dict.fromkeys(total.removed + result.removed)),
                unsupported=total.unsupported + result.unsupported,
                over=total.over + result.over,
                merged=total.merged + result.merged,
            )

    def _batch(self, scope: Scope, profile: Profile) -> SceneResult:
        key = state_key("profile", scope)
        counters = self.store.state(key) or {}
        cursor = int(counters.get("scene_cursor", 0))
        changed = self.store.atoms_changed_since(scope, cursor, self.settings.batch_atoms)
        if not changed:
            return SceneResult()
        before = profile.scenes()
        usable = [atom for atom in changed if not atom.metadata.get("flagged")]
        try:
            state = self.store.state(state_key("scenes", scope)) or {}
            built = self.builder.build(profile, before, usable, state, iso(int(self.clock.now()) * 1000))
            scenes, result = self._checked(scope, built.scenes)
            profile.write_scenes(scenes)
        except BaseException:  # whatever happened, half a change must not stay; it is raised again
            profile.write_scenes(before)
            raise
        self._commit(scope, cursor, changed[-1].change, built, before, scenes)
        changes = _difference(before, scenes)
        return replace(result, atoms=len(changed), changed=changes.changed, removed=changes.removed)

    def _checked(self, scope: Scope, scenes: Sequence[Scene]) -> tuple[list[Scene], SceneResult]:
        """Keep the statements that rest on live atoms, the size of each scene and the number of scenes."""
        missing = cut = merged = 0
        live = live_ids(self.store, scope, [scene.body for scene in scenes])
        weight = weigher(self.store, scope)
        kept = []
        for scene in scenes:
            body, unsupported = supported(scene.body, live)
            body, over = fitted(body, self.settings.max_scene_chars, weight)
            missing, cut = missing + unsupported, cut + over
            if cited_ids(body):
                summary = " ".join(scene.summary.split())[:SUMMARY_CHARS]
                kept.append(replace(scene, body=body, summary=summary))
        while len(kept) > self.settings.max_scenes:
            kept = merge_coldest(kept, self.settings.max_scene_chars, weight)
            merged += 1
        return kept, SceneResult(unsupported=missing, over=cut, merged=merged)

    def _commit(
        self, scope: Scope, cursor: int, reached: int, built: Built, before: Sequence[Scene], after: Sequence[Scene]
    ) -> None:
        def change(counters: dict[str, Any]) -> dict[str, Any]:
            counters["scene_cursor"] = max(reached, int(counters.get("scene_cursor", 0)))
            if list(before) != list(after):
                counters["scenes_processed"] = int(counters.get("scenes_processed", 0)) + 1
            if built.persona_request is not None:
                counters["request_persona_update"] = True
                counters["persona_update_reason"] = built.persona_request
            return counters

        with self.store.transaction():
            self.store.set_state(state_key("scenes", scope), built.state)
            self.store.update_state(state_key("profile", scope), change)


def live_ids(store: MemoryStore, scope: Scope, texts: Iterable[str]) -> set[str]:
    """Those ids in some documents that are atoms and were not replaced."""
    ids = list(dict.fromkeys(id for text in texts for id in cited_ids(text)))
    return {atom.id for atom in store.atoms(scope, ids)}


def weigher(store: MemoryStore, scope: Scope) -> Callable[[Sequence[str]], tuple[float, ...]]:
    """A function that weighs a statement by its atoms: priority, then how many messages it rests on, then age."""

    def weigh(ids: Sequence[str]) -> tuple[float, ...]:
        return max((weight_of(atom) for atom in store.atoms(scope, list(ids))), default=(0.0, 0.0, 0.0))

    return weigh


def weight_of(atom: Atom) -> tuple[float, ...]:
    """Priority first, then support, then how new it is."""
    return (float(rank(atom.priority)), float(len(atom.sources)), float(atom.updated))


def merge_coldest(
    scenes: Sequence[Scene], limit: int, weight: Callable[[Sequence[str]], tuple[float, ...]]
) -> list[Scene]:
    """The scenes with the two of least heat made one: heat is their sum and one more, the warmer keeps its name."""
    order = sorted(range(len(scenes)), key=lambda i: (scenes[i].heat, scenes[i].updated, scenes[i].filename))
    cold, warm = scenes[order[0]], scenes[order[1]]
    body, _ = fitted(f"{warm.body}\n\n{cold.body}", limit, weight)
    merged = replace(
        warm,
        body=body,
        summary=f"{warm.summary}; {cold.summary}"[:SUMMARY_CHARS],
        heat=warm.heat + cold.heat + 1,
        created=min(filter(None, (warm.created, cold.created)), default=""),
        updated=max(warm.updated, cold.updated),
    )
    return [merged if scene is warm else scene for scene in scenes if scene is not cold]


def _difference(before: Sequence[Scene], after: Sequence[Scene]) -> SceneResult:
    old = {scene.filename: scene for scene in before}
    new = {scene.filename: scene for scene in after}
    return SceneResult(
        changed=tuple(name for name, scene in new.items() if old.get(name) != scene),
        removed=tuple(name for name in old if name not in new),
    )
