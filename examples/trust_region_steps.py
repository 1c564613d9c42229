"""Models, region and step of TR in two variables, a picture for each of the first iterations."""

import numpy as np

import meco
from meco.core.engine import Task
from meco.core.loop import Loop
from meco.core.streams import Streams
from meco.figures.contours import find_contour_segments
from meco.figures.figure import Figure
from meco.figures.panel import MUTED, Axis, Line, Panel, Strokes
from meco.tr.engine import TrustRegion


def formula(x):
    a, b = x[..., 0], x[..., 1]
    return (1 - a) ** 2 + 5 * (b - a**2) ** 2, [a**2 + b**2 - 0.8], []


problem = meco.Problem("banana in a disc", np.zeros(2), np.ones(2), n_ineq=1, n_eq=0, formula=formula)
evaluator = meco.Evaluator.on(problem, budget=25)
loop = Loop(engine := TrustRegion(Task.of(evaluator, Streams([1])), theta=0.3), evaluator)
grid, panels, axis = np.linspace(0, 1, 41), [], Axis(limits=(0, 1), hidden=True)
plane = np.stack(np.meshgrid(grid, grid), axis=-1)
while evaluator.left:
    x = loop.ask()
    if 1 <= engine.generation <= 8:  # after the star: centre, radius and models of f and g are known
        centre, delta = engine.region.centre[0], engine.region.delta[0]
        models = engine.region.models.changes((plane - centre).reshape(1, -1, 2)).reshape(41, 41, 2)
        both = ((problem.raw(plane)[0], MUTED, 0.4), (models[..., 0], 1, 0.8))  # f, and its model
        levels = [(models[..., 1] + problem.raw(centre)[1], 0.0, 0, 2.0)]  # model of g = 0
        levels += [(f, v, s, w) for f, s, w in both for v in np.linspace(f.min(), 1, 12)]
        marks = [Strokes(*find_contour_segments(grid, grid, f, v), s, w) for f, v, s, w in levels]
        corners = np.clip(centre + delta * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]), 0, 1)
        marks += [Line(*corners.T, 2), Line(*np.stack([centre, x[0, 0]]).T, 3, width=3.0)]
        panels.append(Panel(f"Iteration {engine.generation}", marks, axis, axis, (240, 0), equal=True))
    loop.evaluate_and_tell(x)
Figure("steps", "Steps", panels, small=True).save("trust_region_steps.svg")
print(evaluator.results("TR", [1])[0])
