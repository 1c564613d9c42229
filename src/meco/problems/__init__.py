"""Problems: formulas with their facts, the suites they come in, and the one place that calls them."""

from meco.problems.problem import Problem, problem

__all__ = ["Problem", "problem"]
