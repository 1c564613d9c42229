"""Names removed in 0.4 and their replacements. Each table is read until 0.5."""

from __future__ import annotations

METHODS: dict[str, str] = {
    "COLSHADE": "use SHADE-FR",
}
COMMANDS: dict[str, str] = {}
OPTIONS: dict[str, str] = {}  # of the command line
PROBLEMS: dict[str, str] = {}
SUITES: dict[str, str] = {}
MODULES: dict[str, str] = {  # import paths, with everything below them
    "meco.engines.de.colshade": "use meco.engines.de.shade",
}

KINDS = {"method": METHODS, "command": COMMANDS, "option": OPTIONS, "problem": PROBLEMS, "suite": SUITES}


def explain_removal(kind: str, name: object) -> str | None:
    """One line for a removed name of a kind of KINDS, whatever its case; None for any other name."""
    wanted = str(name).lower()
    return next(
        (
            f"{kind} {known!r} was removed in 0.4: {use}"
            for known, use in KINDS.get(kind, {}).items()
            if known.lower() == wanted
        ),
        None,
    )


class RemovedModules:
    """Import finder, the last on sys.meta_path: names the replacement of a removed module."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise ImportError for a module of MODULES; find nothing else."""
        for known, use in MODULES.items():
            if name == known or name.startswith(f"{known}."):
                raise ImportError(f"{known} was removed in 0.4: {use}", name=name)
