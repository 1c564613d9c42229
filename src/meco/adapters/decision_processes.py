"""The decision process of MeCO for an environment: problems to draw from, episodes on them, information on a run.

It serves one run or many in lockstep, and does not know Gymnasium.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meco.core.problem import Problem
from meco.errors import InvalidInput
from meco.paper.action import DECODERS
from meco.paper.controls import CONTROLS
from meco.paper.episode import Episode
from meco.paper.features import FEATURES
from meco.paper.reading import AS_PRINTED, Reading
from meco.paper.reward import ReferenceObjective
from meco.problems.suite import CEC_NAMES, find_problem_module, get_problem

RunChoice = tuple[Problem, int]  # the problem and the seed of a run


def _read_indices(actions: np.ndarray, count: int) -> np.ndarray:
    """Actions that are counted as whole numbers from 0 to count - 1; InvalidInput for others."""
    whole = actions.dtype.kind in "iu" or (actions.dtype.kind == "f" and bool((actions == np.round(actions)).all()))
    if not whole or ((actions < 0) | (actions >= count)).any():
        raise InvalidInput(f"an action is a whole number from 0 to {count - 1}; got {actions.tolist()!s:.60}")
    return actions.astype(int)


def _list_problems(given: Problem | str | Sequence[Problem | str]) -> Sequence[Problem | str]:
    """Problems of an environment as a list, of one too; InvalidInput for none."""
    found = [given] if isinstance(given, (Problem, str)) else list(given)
    if not found:
        raise InvalidInput("an environment needs a problem at least; problems is empty")
    return found


class RelaxationProcess:
    """MeCO: how far the comparison rule is relaxed, decided in every generation.

    f~* of the reward is the best that an environment's own episodes have reached. instance="random" gives problems of
    CEC2017 another shift and rotation in every episode.
    """

    features = FEATURES["population-10"]
    choices = len(CONTROLS["epsilon"].grid)  # index k is the action value k / 10

    def __init__(
        self,
        environments: int = 1,
        problems: Problem | str | Sequence[Problem | str] = CEC_NAMES,
        dim: int = 10,
        instance: str | int = "paper",
        budget: int | None = None,
        pop_size: int = 50,
        reward: str = "full",
        decoder: str = "geometric",
        best: str = AS_PRINTED.best,
        guide_order: str = AS_PRINTED.guide_order,
    ) -> None:
        """A reference objective for each environment, by its index."""
        self._random_instances = instance == "random"
        kept = "paper" if self._random_instances else instance
        self.problems = [p if isinstance(p, Problem) else get_problem(p, dim, kept) for p in _list_problems(problems)]
        self.references = [ReferenceObjective() for _ in range(environments)]
        self._settings: dict[str, Any] = {
            "budget": budget, "pop_size": pop_size, "reward": reward, "decoder": DECODERS[decoder],
            "reading": Reading(best, guide_order),
        }  # fmt: skip

    def draw_run(self, generator: np.random.Generator, wanted: Problem | str | None) -> RunChoice:
        """Problem and seed of the next run, drawn in this order; wanted overrules the problem alone.

        InvalidInput where it is not like the others.
        """
        chosen = self.problems[int(generator.integers(len(self.problems)))]
        seed = int(generator.integers(2**62))
        if wanted is None:
            return chosen, seed
        problem = wanted if isinstance(wanted, Problem) else self._find_problem(wanted, chosen.dim)
        if problem.dim != chosen.dim:
            raise InvalidInput(
                f"this environment has problems of {chosen.dim} variables; {problem.name} has {problem.dim}"
            )
        return problem, seed

    def _find_problem(self, name: str, dim: int) -> Problem:
        """A problem of this environment by name, or any other as get_problem knows it; UnknownName for others."""
        listed = next((problem for problem in self.problems if problem.name == name), None)
        return listed or get_problem(name, dim if find_problem_module(name)[0].scalable else None)

    def open_episode(self, choices: Sequence[RunChoice]) -> Episode:
        """An episode of SHADE whose references are what each environment has reached so far."""
        problems, seeds = zip(*choices)
        if self._random_instances:
            problems = tuple(_draw_instance(problem, seed) for problem, seed in choices)
        known = [reference.look_up([problem.name])[0] for reference, problem in zip(self.references, problems)]
        return Episode(list(problems), seeds, references=np.array(known), record=False, **self._settings)

    def decode_actions(self, actions: np.ndarray) -> np.ndarray:
        """Indices [B] of the grid as values [B] of the action."""
        return self._settings["decoder"].grid[_read_indices(actions, self.choices)]

    def remember_outcome(self, episode: Episode) -> None:
        """Let the best objective of each run be the reference of its environment, where it is better."""
        for reference, name, best in zip(self.references, episode.keys, np.asarray(episode.best_objective)):
            reference.update([name], np.array([best]))

    def forget_outcomes(self, environment: int) -> None:
        """Begin again without a reference for this environment."""
        self.references[environment] = ReferenceObjective()

    def describe(self, episode: Episode) -> str:
        """The state of the first run in a line: problem, evaluations, best objective, violation and least f + nu."""
        known = {name: values[0] for name, values in self.run_info(episode).items()}
        return (
            f"{known['problem']}  {known['nfev']} of {episode.budget} evaluations  f {known['f_best']:.6g}  "
            f"mean violation {known['nu_bar']:.3g}  allowed {np.mean(known['eps']):.3g}  "
            f"least f + nu {known['score']:.6g}"
        )

    def run_info(self, episode: Episode) -> dict[str, np.ndarray]:
        """Problem, evaluations, allowances, best f, nu-bar and least f + nu of each run so far, [B, ...] by name."""
        return {
            "problem": np.array(episode.keys, dtype=object),
            "nfev": np.array(episode.nfev),
            "eps": np.array(episode.eps),
            "f_best": np.array(episode.population_summary.f_best),
            "nu_bar": np.array(episode.population_summary.nu_bar),
            "score": np.array(episode.score),
        }


def _draw_instance(problem: Problem, seed: int) -> Problem:
    """The instance of a CEC2017 problem that the seed of a run draws; other problems as they are."""
    return get_problem(problem.name, problem.dim, seed % 2**31) if problem.name in CEC_NAMES else problem
