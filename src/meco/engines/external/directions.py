"""NSGA-III's reference directions: computed once, then read from the user's cache."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import numpy as np

from meco.engines.external import load_library
from meco.files.atomic import replace_file


def cache_folder() -> Path:
    """The folder for what can be computed again, by the platform's convention; it need not exist."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "meco" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "meco"
    return Path(os.environ.get("XDG_CACHE_HOME", home / ".cache")) / "meco"


@lru_cache(maxsize=32)
def reference_directions(n_obj: int, count: int) -> np.ndarray:
    """Well-spread directions on the unit simplex, [count, n_obj]; rows sum to 1.

    Two objectives: the even grid of Das and Dennis. More: points of least Riesz energy,
    which take seconds to find (pymoo) and are therefore kept on disk, where that can be written.
    """
    if n_obj == 2:
        first = np.linspace(0.0, 1.0, count)
        return np.stack([first, 1.0 - first], axis=1)
    path = cache_folder() / f"directions-{n_obj}-{count}.npy"
    found = _read_directions(path, (count, n_obj))
    if found is None:
        find = load_library("pymoo.util.ref_dirs", "NSGA-III").get_reference_directions
        found = find("energy", n_obj, count, seed=1)
        _keep_directions(path, found)
    return found


def _read_directions(path: Path, shape: tuple[int, int]) -> np.ndarray | None:
    """The directions [count, n_obj] in a file of the cache; None without one of this shape, or where it is damaged."""
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None  # not there, or damaged
    return found if found.shape == shape and np.all(np.isfinite(found)) else None


def _keep_directions(path: Path, found: np.ndarray) -> None:
    """Write directions [count, n_obj] to the cache; where that fails they are only computed again."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path, shared=True) as file:
            np.save(file, found)
