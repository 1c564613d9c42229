"""Say that a policy still steers an engine that has changed since its training, and why.

    python tools/stamp_policy.py meco-tr "steps of whole-number variables (one train family of fifteen)"

The policy keeps its weights. Its record names the engine's present digest, the one it was trained with, and what has
changed: for changes that leave nearly all searches it learnt from bit for bit as they were, until the next training.
"""

from __future__ import annotations

import sys
from pathlib import Path

from meco.learn.engine_digest import engine_digest
from meco.policies.policy_file import SUFFIX, read_policy, save_policy
from meco.policies.store import policy_path

MADE_ANEW = ("name", "digest", "feature_version", "clip", "grid", "library_version")  # by save_policy


def main() -> None:
    name, reason, *changes = sys.argv[1:]
    path = policy_path(name) if not name.endswith(SUFFIX) else Path(name)
    policy = read_policy(path)
    known = {key: value for key, value in policy.metadata.items() if key not in MADE_ANEW}
    known |= {"engine": engine_digest(), "trained_with": known.get("trained_with", known["engine"]), "since": reason}
    known |= dict(text.split("=", 1) for text in changes)
    save_policy(path, policy.weights, known)
    print(f"{path}: {known['engine'][:12]}, trained with {known['trained_with'][:12]}")


if __name__ == "__main__":
    main()
