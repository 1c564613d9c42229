"""The door for Gymnasium, which finds environments by module: gymnasium.make("meco.gym:MeCO-v0").

The environments are in meco.adapters.gymnasium.
"""

from meco.adapters.gymnasium import ENVIRONMENTS, register

__all__ = ["ENVIRONMENTS", "register"]
