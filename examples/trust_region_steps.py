"""Models, region and step of TR in two variables, a picture for each of the first turns."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import meco
from meco.core.engine import Task
from meco.engines.model.trust_region import TrustRegion
from meco.core.evaluator import Evaluator
from meco.streams import Streams


def formula(x):
    a, b = x[..., 0], x[..., 1]
    return (1 - a) ** 2 + 5 * (b - a**2) ** 2, [a**2 + b**2 - 0.8], []


problem = meco.Problem("banana in a disc", np.zeros(2), np.ones(2), n_ineq=1, n_eq=0, formula=formula)
evaluator = Evaluator.on(problem, budget=25)
engine = TrustRegion(Task.of(evaluator, Streams([1])), theta=0.3)
plane = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 2), axis=-1)
fig, axes = plt.subplots(2, 4, figsize=(12, 6), layout="constrained")
while evaluator.left:
    x = engine.ask()
    if 1 <= engine.generation <= axes.size:  # after the star: centre, radius and models of f and g are known
        ax, region = axes.flat[engine.generation - 1], engine.region
        models = region.models.changes((plane - region.centre).reshape(1, -1, 2)).reshape(101, 101, 2)
        ax.contour(*plane.T, problem.raw(plane)[0].T, 20, colors="lightgrey")
        ax.contour(*plane.T, models[..., 0].T, 20, linewidths=0.8)
        ax.contour(*plane.T, models[..., 1].T + problem.raw(region.centre[0])[1], [0], colors="red")
        ax.add_patch(plt.Rectangle(region.centre[0] - region.delta, *2 * [2 * region.delta[0]], fill=False))
        ax.plot(*np.stack([region.centre[0], x[0, 0]]).T, "k.-")
    engine.tell(x, evaluator.evaluate(x))
fig.savefig("trust_region_steps.png")
print(evaluator.results("TR", [1])[0])
