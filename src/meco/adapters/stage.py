"""What Gymnasium's environments play on: which problem comes next, an episode of it, what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meco.errors import InvalidInput
from meco.mdp.episode import Episode
from meco.mdp.reward import ReferenceObjective
from meco.problems.problem import Problem
from meco.problems.suite import CEC_NAMES, get_problem
from meco.rules.steered import DECODERS


class Player:
    """Which problem comes next and what is known of it, for one environment.

    Everything random comes from one generator; f~* of the reward is the best that this
    player's own episodes have reached.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems, self.references = problems, ReferenceObjective()

    def next(self, generator: np.random.Generator, wanted: Problem | str | None) -> tuple[Problem, int]:
        """Problem and seed of the next run; wanted overrules the choice of the problem."""
        chosen = self.problems[int(generator.integers(len(self.problems)))]
        seed = int(generator.integers(2**62))
        if wanted is None:
            return chosen, seed
        problem = _named(wanted, self.problems)
        if problem.dim != chosen.dim:
            raise InvalidInput(
                f"this environment has problems of {chosen.dim} variables; {problem.name} has {problem.dim}"
            )
        return problem, seed


class Stage:
    """What an environment and its vector form have in common: problems, episode settings, what info says."""

    def __init__(
        self,
        problems: Sequence[Problem | str] = CEC_NAMES,
        dim: int = 10,
        instance: str | int = "paper",
        budget: int | None = None,
        pop_size: int = 50,
        reward: str = "full",
        decoder: str = "geometric",
    ) -> None:
        self.problems = [p if isinstance(p, Problem) else get_problem(p, dim, instance) for p in problems]
        self.grid = DECODERS[decoder].grid
        self._settings: dict[str, Any] = {"budget": budget, "pop_size": pop_size, "reward": reward}
        self._settings["decoder"] = DECODERS[decoder]

    def open(self, players: Sequence[Player], choices: Sequence[tuple[Problem, int]]) -> Episode:
        """An episode with a run for each player."""
        known = [player.references.of([problem.name])[0] for player, (problem, _) in zip(players, choices)]
        problems, seeds = zip(*choices)
        return Episode(list(problems), seeds, references=np.array(known), record=False, **self._settings)

    @staticmethod
    def close(players: Sequence[Player], episode: Episode) -> None:
        """Let each player remember what its run reached."""
        for player, name, best in zip(players, episode.keys, np.asarray(episode.best_objective)):
            player.references.update([name], np.array([best]))

    @staticmethod
    def words(episode: Episode, run: int = 0) -> str:
        """Where a run stands, in a line."""
        info = {name: values[run] for name, values in Stage.info(episode).items()}
        return (
            f"{info['problem']}  {info['nfev']} of {episode.budget} evaluations  f {info['f_best']:.6g}  "
            f"mean violation {info['nu_bar']:.3g}  allowed {np.mean(info['eps']):.3g}  least f + nu {info['score']:.6g}"
        )

    @staticmethod
    def info(episode: Episode) -> dict[str, np.ndarray]:
        """Per run: problem, evaluations, allowances, best objective, nu-bar, least f + nu so far."""
        return {
            "problem": np.array(episode.keys, dtype=object),
            "nfev": np.array(episode.nfev),
            "eps": np.array(episode.eps),
            "f_best": np.array(episode.now.f_best),
            "nu_bar": np.array(episode.now.nu_bar),
            "score": np.array(episode.score),
        }


def _named(wanted: Problem | str, problems: Sequence[Problem]) -> Problem:
    """A problem of this environment by name, or any other as get_problem knows it."""
    if isinstance(wanted, Problem):
        return wanted
    for problem in problems:
        if problem.name == wanted:
            return problem
    return get_problem(wanted)
