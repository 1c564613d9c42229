"""The commit of the source that a training ran with."""

from __future__ import annotations

import subprocess
from pathlib import Path


def source_commit() -> str | None:
    """The commit of this source tree, "+" if the package was changed since; None where git does not know this file.

    Runs git.
    """

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=here.parent, capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()

    here = Path(__file__).resolve()
    try:
        git("ls-files", "--error-unmatch", here.name)
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "-uno", "--", "..") else "")
    except (OSError, subprocess.SubprocessError):
        return None
