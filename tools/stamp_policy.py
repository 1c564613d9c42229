"""Say that a policy still steers an engine that has changed since its training, and what has changed.

    python tools/stamp_policy.py meco-tr-es "the models and steps of TR have changed" trained_version=0.2.0

The policy keeps its weights, and its record the engine and the version that it was trained with; it names beside them
the present engine and what has changed. Until the next training: `meco policy show` says all of it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from meco.learn.engine_digest import engine_digest
from meco.policies.engine_stamp import read_engine_stamp, stamp_record
from meco.policies.policy_file import SUFFIX, read_policy, save_policy
from meco.policies.store import policy_path

MADE_ANEW = ("name", "digest", "feature_version", "clip", "grid", "library_version")  # by save_policy


def main() -> None:
    name, reason, *changes = sys.argv[1:]
    path = policy_path(name) if not name.endswith(SUFFIX) else Path(name)
    policy = read_policy(path)
    known = {key: value for key, value in policy.metadata.items() if key not in MADE_ANEW}
    known = stamp_record(known, engine_digest(), reason) | dict(text.split("=", 1) for text in changes)
    save_policy(path, policy.weights, known)
    for name, text in read_engine_stamp(known).describe(engine_digest()).items():
        print(f"{name}: {text}")


if __name__ == "__main__":
    main()
