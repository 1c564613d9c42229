"""Models, region and step of TR in two variables, a picture for each of the first iterations."""

import numpy as np
from matplotlib.figure import Figure

import meco
from meco.core.engine import Task
from meco.core.loop import Loop
from meco.core.streams import Streams
from meco.tr.engine import TrustRegion


def formula(x):
    a, b = x[..., 0], x[..., 1]
    return (1 - a) ** 2 + 5 * (b - a**2) ** 2, [a**2 + b**2 - 0.8], []


problem = meco.Problem("banana in a disc", np.zeros(2), np.ones(2), n_ineq=1, n_eq=0, formula=formula)
evaluator = meco.Evaluator.on(problem, budget=25)
loop = Loop(engine := TrustRegion(Task.of(evaluator, Streams([1])), theta=0.3), evaluator)
grid = np.linspace(0, 1, 41)
plane = np.stack(np.meshgrid(grid, grid), axis=-1)
figure = Figure(figsize=(10, 5.4), layout="constrained")
axes = iter(figure.subplots(2, 4).flat)
while evaluator.left:
    x = loop.ask()
    if 1 <= engine.generation <= 8:  # after the first design: centre, radius and models of f and g are known
        centre, delta = engine.region.centre[0], engine.region.delta[0]
        models = engine.region.models.changes((plane - centre).reshape(1, -1, 2)).reshape(41, 41, 2)
        ax = next(axes)
        ax.contour(grid, grid, problem.raw(plane)[0], 12, colors="0.8")
        ax.contour(grid, grid, models[..., 0], 12, colors="C0", linewidths=0.8)
        ax.contour(grid, grid, models[..., 1] + problem.raw(centre)[1], [0.0], colors="C3")
        corners = np.clip(centre + delta * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]), 0, 1)
        ax.plot(*corners.T, color="C2")
        ax.plot(*np.stack([centre, x[0, 0]]).T, color="k", marker="o", markevery=[1])
        ax.set(title=f"Iteration {engine.generation}", aspect="equal", xticks=[], yticks=[])
    loop.evaluate_and_tell(x)
figure.savefig("trust_region_steps.svg")
print(evaluator.results("TR", [1])[0])
