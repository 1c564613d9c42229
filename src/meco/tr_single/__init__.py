"""A trust-region method with quadratic models of the objective and of every constraint, for one run, in NumPy."""

from meco.tr_single.answers import Answers
from meco.tr_single.extensions.compose import make_search
from meco.tr_single.options import Options
from meco.tr_single.search import TrustRegion
from meco.tr_single.task import IntegerTask, Task

__all__ = ["Answers", "IntegerTask", "Options", "Task", "TrustRegion", "make_search"]
