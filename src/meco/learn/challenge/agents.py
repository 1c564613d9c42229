"""Agents of anyone: a rule in plain Python, a policy of ours, an agent of Gymnasium, or a process behind a pipe.

Whatever a file offers is turned into one thing: act(observation) gives theta and share of every run, [B, 2].
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from meco.errors import InvalidInput, UnknownName
from meco.files.modules import file_digest, load_file
from meco.learn.challenge.agent_errors import blame_agent
from meco.learn.challenge.observation import CONSTRAINT_NAMES, POINT_NAMES, Observation
from meco.policies.controls import CONTROLS
from meco.policies.features import FEATURES
from meco.policies.policy import Policy
from meco.policies.resolve import find_policy
from meco.tr.steered import SEARCH_CONTROLS, SEARCH_FEATURES

ENTRY_POINTS = "meco.agents"
PIPE_FORMAT = 1  # of the lines that go through a pipe
OFFERS = "decide(seen), policy, train(make_env, seconds, seed), agent with predict() or act(), or command"


class Agent(ABC):
    """What is judged: begin() with every batch of runs, then act() at each of their decisions, up to the end."""

    training_seconds = 0.0
    within_its_file = False  # whether its file alone says what it does: no training, process or other file

    def begin(self, runs: int) -> None:  # noqa: B027 - most remember nothing
        """A batch of so many runs starts: forget those before. Nothing here."""

    @abstractmethod
    def act(self, seen: Observation) -> np.ndarray:
        """theta and share of each run at a decision: [B, 2]."""

    def close(self) -> None:  # noqa: B027
        """End processes of the agent, if it has any."""


class RuleAgent(Agent):
    """A function of one run's features by name, which gives {"theta": .., "share": ..} or the two numbers."""

    def __init__(self, decide: Callable[[dict[str, float]], Any]) -> None:
        self.decide = decide

    def act(self, seen: Observation) -> np.ndarray:
        """theta and share [B, 2] by asking for each run by itself; check_actions() judges what came."""
        answers = [self.decide(seen.by_name(b)) for b in range(len(seen.s))]
        rows = [(a["theta"], a["share"]) if isinstance(a, Mapping) else a for a in answers]
        return np.array(rows, dtype=np.float64)


class PolicyAgent(Agent):
    """A policy of ours: an object, a file, a name, or constants."""

    def __init__(self, policy: Policy) -> None:
        """Take a policy over theta and share; InvalidInput for one that sees or sets something else."""
        if (policy.features or SEARCH_FEATURES) != SEARCH_FEATURES:
            raise InvalidInput(f"a challenge is for policies over theta and share; this one sees {policy.features}")
        self.policy = policy
        self.controls = CONTROLS[policy.controls or SEARCH_CONTROLS]

    def act(self, seen: Observation) -> np.ndarray:
        """theta and share [B, 2] that the policy decides.

        One that it leaves alone is what the engine's own rule sets.
        """
        found = self.policy.decide(seen.s, seen.u, self.controls)
        own = {name: seen.s[:, k - 2] for k, name in enumerate(("theta", "share"))}
        return np.stack([np.broadcast_to(found.get(name, own[name]), len(seen.s)) for name in own], axis=1)


class OwnRuleAgent(Agent):
    """The engine's own rule, which the last two features hold."""

    def act(self, seen: Observation) -> np.ndarray:
        """theta and share [B, 2] as the engine's own rule would set them."""
        return seen.s[:, -2:]


class PredictAgent(Agent):
    """Anything with predict(observations, deterministic=True), as Stable-Baselines3 and its like have it."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def act(self, seen: Observation) -> np.ndarray:
        """theta and share [B, 2] from predict(), whose integers are indices into the grid of the controls."""
        try:
            found = self.model.predict(seen.s.astype(np.float32), deterministic=True)
        except TypeError:
            found = self.model.predict(seen.s.astype(np.float32))
        actions = np.asarray(found[0] if isinstance(found, tuple) else found)
        if actions.ndim == 1 and actions.dtype.kind in "iu":
            actions = np.array(CONTROLS[SEARCH_CONTROLS].grid)[actions]
        return actions.reshape(len(seen.s), 2).astype(np.float64)


class ActAgent(Agent):
    """An object with act(observation), which sees features and sets; begin(runs) where it remembers runs."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def begin(self, runs: int) -> None:
        """Tell the object, where it has begin(runs)."""
        getattr(self.model, "begin", lambda runs: None)(runs)

    def act(self, seen: Observation) -> np.ndarray:
        """What the object's act(observation) gives, as floats; check_actions() judges it."""
        return np.asarray(self.model.act(seen), dtype=np.float64)


class PipeAgent(Agent):
    """A process of its own, in whatever language and environment: a JSON object on a line there, one on a line back.

    First {"meco": 1, "features": [...], "points": [...], "constraints": [...], "controls": [{"name", "low", "high"}]},
    answered by {"name": ..., "sets": true or false}. Then, again and again, {"begin": runs} without an answer, and at
    each decision {"s": [[...]], ...} with "points" and "constraints" where sets are wanted, answered by
    {"actions": [[theta, share], ...]}. At the end its standard input is closed.
    """

    def __init__(self, command: Sequence[str], folder: Path | None = None) -> None:
        """Start the process in a folder and greet it; InvalidInput where it does not start or answer."""
        self.command = [str(word) for word in command]
        try:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
            )
        except OSError as error:
            raise InvalidInput(f"cannot start the agent {self.command}: {error.strerror}") from error
        controls = [{"name": c.name, "low": c.low, "high": c.high} for c in CONTROLS[SEARCH_CONTROLS].controls]
        hello = {"meco": PIPE_FORMAT, "features": FEATURES[SEARCH_FEATURES].names, "controls": controls}
        self._send({**hello, "points": POINT_NAMES, "constraints": CONSTRAINT_NAMES})
        self.sets = bool(self._receive().get("sets", False))

    def begin(self, runs: int) -> None:
        """Tell the process that so many runs start; no answer is awaited."""
        self._send({"begin": runs})

    def act(self, seen: Observation) -> np.ndarray:
        """theta and share [B, 2] by asking for all runs at once; waits for the answer."""
        asked: dict[str, Any] = {"s": seen.s.tolist()}
        if self.sets:
            asked |= {"points": seen.points.tolist(), "constraints": seen.constraints.tolist()}
        self._send(asked)
        return np.array(self._receive()["actions"], dtype=np.float64)

    def close(self) -> None:
        """Close its input, wait for it to end, and kill it after 10 seconds."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def _send(self, message: Mapping[str, Any]) -> None:
        """Write a line to the process; InvalidInput where it has ended."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise InvalidInput(f"the agent {self.command} has ended; its own output says why") from error

    def _receive(self) -> dict[str, Any]:
        """Wait for a line from the process; InvalidInput where it is no JSON object, or the process has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        try:
            return dict(json.loads(line))
        except (ValueError, TypeError) as error:
            raise InvalidInput(f"the agent {self.command} must answer with a JSON object; got {line!r:.80}") from error


def load_agent(text: str, seconds: float, seed: int, make_env: Callable[..., Any]) -> tuple[Agent, str, str]:
    """An agent, its name and the digest of its file: from a file, which is executed, or an entry point's name.

    One that trains does so now, for so many seconds. A name that is neither is an error.
    """
    if text.endswith(".py"):
        module: Any = load_file(text)
        with blame_agent(text):
            made = make_agent(module, seconds, seed, make_env, Path(text).parent)
        return made, Path(text).stem, file_digest(text)
    found = importlib.metadata.entry_points(group=ENTRY_POINTS)
    for entry in found:
        if entry.name == text:
            with blame_agent(text):
                offered: Any = entry.load()
                made = make_agent(offered, seconds, seed, make_env, None)
            source = getattr(offered, "__file__", None)
            return made, text, file_digest(source) if source else f"{entry.value}"
    raise UnknownName("agent: a file.py, or an entry point of meco.agents", text, [entry.name for entry in found])


def make_agent(
    offered: Any, seconds: float, seed: int, make_env: Callable[..., Any], folder: Path | None = None
) -> Agent:
    """The agent that a module or an object offers; one with train() is trained now, and timed.

    Its processes start in the folder. InvalidInput where nothing is offered.
    """
    began, trains = time.monotonic(), callable(getattr(offered, "train", None))
    if trains:
        offered = type("Trained", (), {"agent": offered.train(make_env, seconds, seed)})
    agent = _wrap_agent(offered, folder)
    agent.training_seconds = time.monotonic() - began
    agent.within_its_file = not trains and isinstance(agent, (RuleAgent, ActAgent))
    return agent


def _wrap_agent(offered: Any, folder: Path | None) -> Agent:
    """An Agent around the first of OFFERS that a module or object has; one without any is an error.

    A command is started, a class is instantiated.
    """
    if (command := getattr(offered, "command", None)) is not None:
        return PipeAgent(command, folder)
    if (policy := getattr(offered, "policy", None)) is not None:
        return PolicyAgent(find_policy(policy, [0]))
    if callable(decide := getattr(offered, "decide", None)) and not isinstance(offered, Policy):
        return RuleAgent(decide)
    agent = getattr(offered, "agent", offered)
    agent = agent() if isinstance(agent, type) else agent
    if isinstance(agent, (Agent, Policy)):
        return agent if isinstance(agent, Agent) else PolicyAgent(agent)
    if hasattr(agent, "predict"):
        return PredictAgent(agent)
    if hasattr(agent, "act"):
        return ActAgent(agent)
    raise InvalidInput(f"an agent's file must offer one of {OFFERS}")
