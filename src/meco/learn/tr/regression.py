"""The network that learns Q of rollouts.py: a quadratic in the controls, its coefficients from the features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meco.errors import load_extra
from meco.policies.controls import ControlSet
from meco.policies.network import Weights

VALIDATION_EVERY = 8  # every eighth problem tells when to stop


class RolloutSamples(NamedTuple):
    """States [N, F] at the switches, actions [N], rewards [N], and the number of each run's problem [N]."""

    s: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    problem: np.ndarray


class FitSettings(NamedTuple):
    """Settings of a fit."""

    hidden: int = 48
    steps: int = 4000
    batch: int = 8192
    learning_rate: float = 2e-3
    weight_decay: float = 1e-3
    check_every: int = 200
    seed: int = 1
    device: str = "cpu"
    hidden_features: tuple[int, ...] = ()  # indices of features that the network does not see


def action_basis(controls: ControlSet) -> np.ndarray:
    """Functions whose sum Q is: quadratics of the grid's controls, and one for the engine's own rule: [A + 1, 7]."""
    theta, share = np.array(controls.grid).T
    quadratic = np.stack([np.ones_like(theta), theta, theta**2, share, share**2, theta * share], axis=1)
    grid = np.concatenate([quadratic, np.zeros((len(quadratic), 1))], axis=1)
    return np.concatenate([grid, [[0.0] * 6 + [1.0]]])


def fit_network(samples: RolloutSamples, controls: ControlSet, settings: FitSettings) -> tuple[Weights, dict[str, Any]]:
    """Least squares by AdamW: the weights where the validation problems fit best, and how well they do.

    Every VALIDATION_EVERY-th problem validates. Seeds torch's generator.
    """
    torch: Any = load_extra("torch", "train", "learning from rollouts")
    torch.manual_seed(settings.seed)
    like = {"device": settings.device, "dtype": torch.float32}
    visible = np.isin(np.arange(samples.s.shape[1]), settings.hidden_features, invert=True)
    s = torch.as_tensor(samples.s * visible, **like)
    q = torch.as_tensor(samples.reward, **like)
    action = torch.as_tensor(samples.action, device=settings.device)
    in_validation = torch.as_tensor(samples.problem % VALIDATION_EVERY == 0, device=settings.device)
    basis = torch.as_tensor(action_basis(controls), **like)
    network = torch.nn.Sequential(
        torch.nn.Linear(s.shape[1], settings.hidden), torch.nn.SELU(), torch.nn.Linear(settings.hidden, basis.shape[1])
    ).to(settings.device)
    with torch.no_grad():
        network[2].weight.mul_(0.1)
        network[2].bias.zero_()
        network[2].bias[0] = network[2].bias[6] = q.mean()
    optimizer = torch.optim.AdamW(network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.steps)
    training, validation = torch.nonzero(~in_validation)[:, 0], torch.nonzero(in_validation)[:, 0]

    def error(rows: Any) -> Any:
        value = (network(s[rows]) * basis[action[rows]]).sum(-1)
        return ((value - q[rows]) ** 2).mean()

    least, best = np.inf, None
    without_network = float(((q[validation] - q[training].mean()) ** 2).mean())
    for step in range(settings.steps):
        rows = training[torch.randint(len(training), (settings.batch,), device=settings.device)]
        loss = error(rows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if (step + 1) % settings.check_every == 0 or step + 1 == settings.steps:
            with torch.no_grad():
                found = float(error(validation))
            if found < least:
                least, best = found, [p.detach().double().cpu().numpy().copy() for p in network.parameters()]
    assert best is not None
    w1, b1, w2, b2 = best
    wide = action_basis(controls)
    weights = Weights(w1.T * visible[:, None], b1, w2.T @ wide.T, wide @ b2)
    return weights, {"error": least, "without": without_network, "samples": len(samples.s)}
