"""The decision process of MeCO as the Gymnasium environment MeCO-v0, alone or many in lockstep.

Gymnasium 1 reads no entry points of others: a name carries the module that registers it. That is meco.gym, so
gymnasium.make("meco.gym:MeCO-v0") needs no import; after one of this module or of meco.gym, "MeCO-v0" is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meco.adapters.decision_processes import RelaxationProcess
from meco.core.problem import Problem
from meco.errors import InvalidInput, load_extra

load_extra("gymnasium", "gym", "an environment")
import gymnasium  # noqa: E402
from gymnasium import spaces  # noqa: E402
from gymnasium.utils import seeding  # noqa: E402
from gymnasium.vector.utils import batch_space  # noqa: E402


def observation_space(process: RelaxationProcess) -> spaces.Box:
    """The features of a process as a box [F], within the bound that features have."""
    seen = process.features
    return spaces.Box(-seen.bound, seen.bound, (len(seen.names),), np.float32)


def action_space(process: RelaxationProcess) -> spaces.Discrete:
    """One of the counted actions."""
    return spaces.Discrete(process.choices)


class MecoEnv(gymnasium.Env[np.ndarray, Any]):
    """MeCO-v0: observe s1..s10 of a population, choose the relaxation of its comparison rule in every generation.

    One run per episode, which ends with the budget.

    reset(options={"problem": "C07"}) sets the problem, otherwise it is drawn; reset(seed=...)
    also forgets what earlier episodes reached, so that a seeded environment repeats itself.
    render_mode "ansi" describes the run in a line, "human" prints it after each step.
    """

    metadata = {"render_modes": ["ansi", "human"], "render_fps": 30}  # noqa: RUF012 - Gymnasium's convention

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        """Settings are those of the decision process; InvalidInput for another render_mode."""
        modes = self.metadata["render_modes"]
        if render_mode not in (None, *modes):
            raise InvalidInput(f"render_mode must be {', '.join(map(repr, modes))} or None; got {render_mode!r}")
        self.render_mode = render_mode
        self._process = RelaxationProcess(1, **settings)
        self.observation_space, self.action_space = observation_space(self._process), action_space(self._process)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """A new episode on a drawn problem, or on options["problem"]: features [F] and information.

        A seed restarts the draws and forgets what earlier episodes reached.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._process.forget_outcomes(0)
        self._episode = self._process.open_episode(
            [self._process.draw_run(self.np_random, (options or {}).get("problem"))]
        )
        s = self._episode.reset()
        self._print_if_human()
        return s[0].astype(np.float32), self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Apply an action up to the next decision.

        Features [F], reward, whether the budget is spent, False, information.
        """
        s, r, done = self._episode.step(self._process.decode_actions(np.asarray(action)[None]))
        if done[0]:
            self._process.remember_outcome(self._episode)
        self._print_if_human()
        return s[0].astype(np.float32), float(r[0]), bool(done[0]), False, self._info()

    def render(self) -> Any:
        """The state of the run in a line where render_mode is "ansi", else None."""
        return self._process.describe(self._episode) if self.render_mode == "ansi" else None

    @property
    def problems(self) -> Sequence[Problem]:
        """The problems that are drawn from."""
        return self._process.problems

    @property
    def episode(self) -> Any:
        """The present episode; reset() begins the first."""
        return self._episode

    def _print_if_human(self) -> None:
        """Print the state of the run where render_mode is "human"."""
        if self.render_mode == "human":
            print(self._process.describe(self._episode))

    def _info(self) -> dict[str, Any]:
        """Information on the one run by name, without the leading axis."""
        return {name: values[0] for name, values in self._process.run_info(self._episode).items()}


class MecoVectorEnv(gymnasium.vector.VectorEnv[np.ndarray, Any, np.ndarray]):
    """MeCO-v0, many in lockstep, which all end at the budget; run i is the environment alone, seeded with seed + i.

    The step after the end starts new episodes whatever the actions (next-step autoreset).
    """

    def __init__(self, num_envs: int = 1, **settings: Any) -> None:
        """So many environments; settings are those of the decision process."""
        self.num_envs, self._process = num_envs, RelaxationProcess(num_envs, **settings)
        self.single_observation_space = observation_space(self._process)
        self.single_action_space = action_space(self._process)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        mode = getattr(gymnasium.vector, "AutoresetMode", None)  # Gymnasium 1.0 has next-step autoreset alone
        self.metadata = {"autoreset_mode": mode.NEXT_STEP} if mode else {}
        self._generators = [seeding.np_random()[0] for _ in range(num_envs)]
        self._over = True

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """New episodes: features [num_envs, F] and information; seeds restart the draws of their environments.

        options={"problem": ...} takes one problem for all runs, or a list of one each, else InvalidInput.
        """
        each = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        for i, seed_of_run in enumerate(each or []):
            if seed_of_run is not None:
                self._generators[i] = seeding.np_random(seed_of_run)[0]
                self._process.forget_outcomes(i)
        wanted = (options or {}).get("problem")
        names = wanted if isinstance(wanted, (list, tuple)) else [wanted] * self.num_envs
        if len(names) != self.num_envs:
            raise InvalidInput(f"{self.num_envs} environments need one problem or {self.num_envs}; got {len(names)}")
        choices = [self._process.draw_run(generator, name) for generator, name in zip(self._generators, names)]
        self._episode, self._over = self._process.open_episode(choices), False
        return self._episode.reset().astype(np.float32), self._process.run_info(self._episode)

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Apply the actions up to the next decision, [num_envs, ...] each.

        After the end, begin new episodes instead.
        """
        never = np.zeros(self.num_envs, dtype=bool)
        if self._over:
            s, info = self.reset()
            return s, np.zeros(self.num_envs), never, never, info
        s, r, done = self._episode.step(self._process.decode_actions(np.asarray(actions)))
        self._over = bool(done[0])
        if self._over:
            self._process.remember_outcome(self._episode)
        return s.astype(np.float32), r, done, never, self._process.run_info(self._episode)


ENVIRONMENTS: dict[str, tuple[type, type]] = {  # by id: one run, many in lockstep
    "MeCO-v0": (MecoEnv, MecoVectorEnv),
}


def register() -> None:
    """Make the environments known to Gymnasium; those that are already stay as they are."""
    for name, (one, many) in ENVIRONMENTS.items():
        if name not in gymnasium.registry:
            entries = [f"{made.__module__}:{made.__name__}" for made in (one, many)]  # as text: a spec becomes JSON
            gymnasium.register(name, entry_point=entries[0], vector_entry_point=entries[1])


register()
