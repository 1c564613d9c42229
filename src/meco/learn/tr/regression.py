"""The network that learns what holding is worth: a quadratic in the controls, its coefficients from the features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meco.errors import load_extra
from meco.policies.controls import ControlSet
from meco.policies.network import Weights

KEPT_OUT = 8  # every eighth match is for stopping


class Samples(NamedTuple):
    """States [N, F], which alternative was held [N], what each run earned [N], and the match of each [N]."""

    s: np.ndarray
    held: np.ndarray
    reward: np.ndarray
    match: np.ndarray


class Regression(NamedTuple):
    """Settings of a fit."""

    hidden: int = 48
    steps: int = 4000
    batch: int = 8192
    rate: float = 2e-3
    decay: float = 1e-3
    checked_every: int = 200
    seed: int = 1
    device: str = "cpu"
    unseen: tuple[int, ...] = ()  # features that it does without


def basis(controls: ControlSet) -> np.ndarray:
    """What tells the alternatives apart: quadratics of the grid's controls, and the engine's own rule: [A + 1, 7]."""
    theta, share = np.array(controls.grid).T
    quadratic = np.stack([np.ones_like(theta), theta, theta**2, share, share**2, theta * share], axis=1)
    grid = np.concatenate([quadratic, np.zeros((len(quadratic), 1))], axis=1)
    return np.concatenate([grid, [[0.0] * 6 + [1.0]]])


def fitted(samples: Samples, controls: ControlSet, settings: Regression) -> tuple[Weights, dict[str, Any]]:
    """Least squares by Adam, stopped where matches that are kept out fit best; and how well they do."""
    torch: Any = load_extra("torch", "train", "learning from held controls")
    torch.manual_seed(settings.seed)
    place = {"device": settings.device, "dtype": torch.float32}
    seen = np.isin(np.arange(samples.s.shape[1]), settings.unseen, invert=True)
    s = torch.as_tensor(samples.s * seen, **place)
    q = torch.as_tensor(samples.reward, **place)
    held = torch.as_tensor(samples.held, device=settings.device)
    out = torch.as_tensor(samples.match % KEPT_OUT == 0, device=settings.device)
    spread = torch.as_tensor(basis(controls), **place)
    network = torch.nn.Sequential(
        torch.nn.Linear(s.shape[1], settings.hidden), torch.nn.SELU(), torch.nn.Linear(settings.hidden, spread.shape[1])
    ).to(settings.device)
    with torch.no_grad():
        network[2].weight.mul_(0.1)
        network[2].bias.zero_()
        network[2].bias[0] = network[2].bias[6] = q.mean()
    adam = torch.optim.AdamW(network.parameters(), lr=settings.rate, weight_decay=settings.decay)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, settings.steps)
    learnt, checked = torch.nonzero(~out)[:, 0], torch.nonzero(out)[:, 0]

    def error(rows: Any) -> Any:
        value = (network(s[rows]) * spread[held[rows]]).sum(-1)
        return ((value - q[rows]) ** 2).mean()

    best, kept = np.inf, None
    plain = float(((q[checked] - q[learnt].mean()) ** 2).mean())
    for step in range(settings.steps):
        rows = learnt[torch.randint(len(learnt), (settings.batch,), device=settings.device)]
        loss = error(rows)
        adam.zero_grad()
        loss.backward()
        adam.step()
        falling.step()
        if (step + 1) % settings.checked_every == 0 or step + 1 == settings.steps:
            with torch.no_grad():
                found = float(error(checked))
            if found < best:
                best, kept = found, [p.detach().double().cpu().numpy().copy() for p in network.parameters()]
    assert kept is not None
    w1, b1, w2, b2 = kept
    wide = basis(controls)
    weights = Weights(w1.T * seen[:, None], b1, w2.T @ wide.T, wide @ b2)
    return weights, {"error": best, "without": plain, "samples": len(samples.s)}
