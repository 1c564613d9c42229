"""Problems: formulas with their facts, the suites that they come in, and the values that they give."""

from meco.core.problem import Problem, problem

__all__ = ["Problem", "problem"]
