"""Where Gymnasium finds the environments by name alone: gymnasium.make("meco.gym:MeCO-v0")."""

from meco.adapters.gymnasium import ENVIRONMENTS, register

__all__ = ["ENVIRONMENTS", "register"]
