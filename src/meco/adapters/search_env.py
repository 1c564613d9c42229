"""MeCO-TR as Gymnasium environments: relaxation and share of a search by models, alone or many in lockstep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meco.errors import InvalidInput, load_extra
from meco.figures.search import search_figure
from meco.mdp.controls import CONTROLS
from meco.mdp.features import FEATURES
from meco.mdp.model_search import SEARCH_CONTROLS, SEARCH_FEATURES
from meco.mdp.search_episode import SearchEpisode
from meco.problems.problem import Problem
from meco.problems.suite import get_problem

load_extra("gymnasium", "gym", "the environment MeCO-TR-v0")
import gymnasium  # noqa: E402
from gymnasium import spaces  # noqa: E402
from gymnasium.utils import seeding  # noqa: E402
from gymnasium.vector.utils import batch_space  # noqa: E402

FAMILIES = ("bowl-linear", "linear-inside", "steps-outside")  # of the train set, with six inequalities each
PROBLEMS = tuple(f"G-{family}-{seed:04d}" for seed in range(1, 9) for family in FAMILIES)
SEEN, SET = FEATURES[SEARCH_FEATURES], CONTROLS[SEARCH_CONTROLS]
OBSERVATION = spaces.Box(-SEEN.bound, SEEN.bound, (len(SEEN.names),), np.float32)
LOW, HIGH = (np.array([getattr(c, side) for c in SET.controls], np.float32) for side in ("low", "high"))


def action_space(discrete: bool) -> spaces.Space[Any]:
    """Theta and share, or a place in their grid."""
    return spaces.Discrete(len(SET.grid)) if discrete else spaces.Box(LOW, HIGH, dtype=np.float32)


class Course:
    """The problems of an environment: which one comes next, and an episode of those chosen."""

    def __init__(self, problems: Sequence[Problem | str] = PROBLEMS, dim: int = 10, budget: int | None = None) -> None:
        self.problems = [p if isinstance(p, Problem) else get_problem(p, dim) for p in problems]
        if len({(p.dim, p.n_ineq, p.n_eq) for p in self.problems}) > 1:
            raise InvalidInput("problems of one MeCO-TR environment need equal D and equal numbers of constraints")
        self.budget = budget

    def drawn(self, generator: np.random.Generator, wanted: Problem | str | None) -> tuple[Problem, int]:
        """Problem and seed of the next run; wanted overrules the choice."""
        chosen, seed = self.problems[int(generator.integers(len(self.problems)))], int(generator.integers(2**62))
        if isinstance(wanted, str):
            wanted = next((p for p in self.problems if p.name == wanted), None) or get_problem(wanted, chosen.dim)
        return (chosen if wanted is None else wanted), seed

    def opened(self, choices: Sequence[tuple[Problem, int]]) -> SearchEpisode:
        """An episode with a run for each choice."""
        problems, seeds = zip(*choices)
        return SearchEpisode(list(problems), seeds, self.budget)

    @staticmethod
    def info(episode: SearchEpisode) -> dict[str, np.ndarray]:
        """Per run: problem, evaluations, quantile so far, least f + nu."""
        return {
            "problem": np.array(episode.keys, dtype=object),
            "nfev": np.array(episode.nfev),
            "quantile": np.array(episode.quantile),
            "score": np.array(episode.score),
        }


class SearchEnv(gymnasium.Env[np.ndarray, Any]):
    """One search per episode: observe 29 features, set theta and share every fiftieth of the budget.

    The reward is the change of the run's quantile among its first points, up to 1.5 in all (SearchEpisode).
    reset(options={"problem": ...}) sets the problem, otherwise it is drawn. discrete=True offers the 20 places of the
    grid instead of two numbers. render_mode "rgb_array" draws the search, "ansi" says where it stands.
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}  # noqa: RUF012 - Gymnasium's convention

    def __init__(self, render_mode: str | None = None, discrete: bool = False, **settings: Any) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InvalidInput(f"render_mode must be 'rgb_array', 'ansi' or None; got {render_mode!r}")
        self.observation_space, self.action_space = OBSERVATION, action_space(discrete)
        self.render_mode, self._course, self._discrete = render_mode, Course(**settings), discrete

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        choice = self._course.drawn(self.np_random, (options or {}).get("problem"))
        self._episode = self._course.opened([choice])
        return self._episode.reset()[0].astype(np.float32), self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        given = np.array([int(action)]) if self._discrete else np.asarray(action, np.float64)[None]
        s, r, done = self._episode.step(given)
        return s[0].astype(np.float32), float(r[0]), bool(done[0]), False, self._info()

    def render(self) -> Any:
        """The search as a picture [height, width, 3], or in a line."""
        if self.render_mode == "rgb_array":
            return search_figure(self._episode).to_array()
        if self.render_mode == "ansi":
            told = self._info()
            return (
                f"{told['problem']}  {told['nfev']} of {self._episode.budget} evaluations  "
                f"quantile {told['quantile']:.3f}  least f + nu {told['score']:.6g}"
            )
        return None

    def _info(self) -> dict[str, Any]:
        return {name: values[0] for name, values in Course.info(self._episode).items()}


class SearchVectorEnv(gymnasium.vector.VectorEnv[np.ndarray, Any, np.ndarray]):
    """Many searches in lockstep; run i is SearchEnv seeded with seed + i. All end together, at the budget.

    The step after the end starts new episodes whatever the actions (next-step autoreset).
    """

    def __init__(self, num_envs: int = 1, discrete: bool = False, **settings: Any) -> None:
        self.num_envs, self._discrete, self._course = num_envs, discrete, Course(**settings)
        self.single_observation_space, self.single_action_space = OBSERVATION, action_space(discrete)
        self.observation_space = batch_space(OBSERVATION, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        mode = getattr(gymnasium.vector, "AutoresetMode", None)  # Gymnasium 1.0 has next-step autoreset alone
        self.metadata = {"autoreset_mode": mode.NEXT_STEP} if mode else {}
        self._generators = [seeding.np_random()[0] for _ in range(num_envs)]
        self._over = True

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """New episodes; options={"problem": ...} takes one problem for all runs, or a list of one each."""
        each = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed or []
        for i, own in enumerate(each):
            if own is not None:
                self._generators[i] = seeding.np_random(own)[0]
        wanted = (options or {}).get("problem")
        names = wanted if isinstance(wanted, (list, tuple)) else [wanted] * self.num_envs
        choices = [self._course.drawn(g, name) for g, name in zip(self._generators, names, strict=True)]
        self._episode, self._over = self._course.opened(choices), False
        return self._episode.reset().astype(np.float32), Course.info(self._episode)

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        never = np.zeros(self.num_envs, dtype=bool)
        if self._over:
            s, info = self.reset()
            return s, np.zeros(self.num_envs), never, never, info
        s, r, done = self._episode.step(np.asarray(actions, int if self._discrete else np.float64))
        self._over = bool(done[0])
        return s.astype(np.float32), r, done, never, Course.info(self._episode)
