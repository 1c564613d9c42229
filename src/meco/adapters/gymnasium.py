"""The meta-level MDPs as Gymnasium environments: MeCO-v0 and MeCO-TR-v0 (search_env.py), alone or many in lockstep.

Gymnasium 1 reads no entry points of others: a name carries the module that registers it. That is meco.gym, so
gymnasium.make("meco.gym:MeCO-v0") needs no import; after one of this module or of meco.gym, "MeCO-v0" is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meco.adapters.search_env import SearchEnv, SearchVectorEnv
from meco.adapters.stage import Player, Stage
from meco.errors import InvalidInput, load_extra
from meco.mdp.controls import CONTROLS
from meco.mdp.features import FEATURES
from meco.mdp.reward import ReferenceObjective

load_extra("gymnasium", "gym", "the environment MeCO-v0")
import gymnasium  # noqa: E402
from gymnasium import spaces  # noqa: E402
from gymnasium.utils import seeding  # noqa: E402
from gymnasium.vector.utils import batch_space  # noqa: E402

SEEN = FEATURES["population-10"]
OBSERVATION = spaces.Box(-SEEN.bound, SEEN.bound, (len(SEEN.names),), np.float32)  # s1..s10
ACTION = spaces.Discrete(len(CONTROLS["epsilon"].grid))  # index k is the action value k / 10


class MecoEnv(gymnasium.Env[np.ndarray, np.int64]):
    """One optimization run per episode: observe s1..s10, choose the relaxation, end with the budget.

    reset(options={"problem": "C07"}) sets the problem, otherwise it is drawn; reset(seed=...)
    also forgets the reference objectives, so that a seeded environment repeats itself.
    render_mode "ansi" gives where the run stands as a line, "human" prints it after each step.
    """

    metadata = {"render_modes": ["ansi", "human"], "render_fps": 30}  # noqa: RUF012 - Gymnasium's convention

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InvalidInput(f"render_mode must be 'ansi', 'human' or None; got {render_mode!r}")
        self.observation_space, self.action_space = OBSERVATION, spaces.Discrete(ACTION.n)
        self.render_mode = render_mode
        self._stage = Stage(**settings)
        self._player = Player(self._stage.problems)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._player.references = ReferenceObjective()
        choice = self._player.next(self.np_random, (options or {}).get("problem"))
        self._episode = self._stage.open([self._player], [choice])
        s = self._episode.reset()
        self._show()
        return s[0].astype(np.float32), self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        s, r, done = self._episode.step(self._stage.grid[[int(action)]])
        if done[0]:
            self._stage.close([self._player], self._episode)
        self._show()
        return s[0].astype(np.float32), float(r[0]), bool(done[0]), False, self._info()

    def render(self) -> str | None:
        """Where the run stands, in a line."""
        return self._stage.words(self._episode) if self.render_mode == "ansi" else None

    def _show(self) -> None:
        if self.render_mode == "human":
            print(self._stage.words(self._episode))

    def _info(self) -> dict[str, Any]:
        return {name: values[0] for name, values in self._stage.info(self._episode).items()}


class MecoVectorEnv(gymnasium.vector.VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many runs in lockstep; run i is MecoEnv seeded with seed + i. All end together, at the budget.

    The step after the end starts new episodes whatever the actions (next-step autoreset).
    """

    def __init__(self, num_envs: int = 1, **settings: Any) -> None:
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = OBSERVATION, ACTION
        self.observation_space = batch_space(OBSERVATION, num_envs)
        self.action_space = batch_space(ACTION, num_envs)
        mode = getattr(gymnasium.vector, "AutoresetMode", None)  # Gymnasium 1.0 has next-step autoreset alone
        self.metadata = {"autoreset_mode": mode.NEXT_STEP} if mode else {}
        self._stage = Stage(**settings)
        self._players = [Player(self._stage.problems) for _ in range(num_envs)]
        self._generators = [seeding.np_random()[0] for _ in range(num_envs)]
        self._over = True

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """New episodes; options={"problem": ...} takes one problem for all runs, or a list of one each."""
        each = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        for i, own in enumerate(each or []):
            if own is not None:
                self._generators[i] = seeding.np_random(own)[0]
                self._players[i].references = ReferenceObjective()
        wanted = (options or {}).get("problem")
        names = wanted if isinstance(wanted, (list, tuple)) else [wanted] * self.num_envs
        if len(names) != self.num_envs:
            raise InvalidInput(f"{self.num_envs} environments need one problem or {self.num_envs}; got {len(names)}")
        choices = [p.next(g, name) for p, g, name in zip(self._players, self._generators, names)]
        self._episode, self._over = self._stage.open(self._players, choices), False
        return self._episode.reset().astype(np.float32), self._stage.info(self._episode)

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        never = np.zeros(self.num_envs, dtype=bool)
        if self._over:
            s, info = self.reset()
            return s, np.zeros(self.num_envs), never, never, info
        s, r, done = self._episode.step(self._stage.grid[np.asarray(actions, dtype=int)])
        self._over = bool(done[0])
        if self._over:
            self._stage.close(self._players, self._episode)
        return s.astype(np.float32), r, done, never, self._stage.info(self._episode)


ENVIRONMENTS: dict[str, tuple[type, type]] = {  # by id: one run, many in lockstep
    "MeCO-v0": (MecoEnv, MecoVectorEnv),
    "MeCO-TR-v0": (SearchEnv, SearchVectorEnv),
}


def register() -> None:
    """Make the environments known to Gymnasium, once."""
    for name, (one, many) in ENVIRONMENTS.items():
        if name not in gymnasium.registry:
            entries = [f"{made.__module__}:{made.__name__}" for made in (one, many)]  # as text: a spec becomes JSON
            gymnasium.register(name, entry_point=entries[0], vector_entry_point=entries[1])


register()
