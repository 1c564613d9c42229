"""A study with constraints, on a log scale and with whole numbers, kept in a database and resumed."""

import math

import optuna

from meco.adapters.optuna import MecoSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)


def train(trial):
    """Stands for a training run: the error of a network that must fit into memory and answer in time."""
    rate = trial.suggest_float("learning_rate", 1e-5, 1e-1, log=True)
    layers = trial.suggest_int("layers", 1, 12)
    width = trial.suggest_int("width", 16, 512, step=16)
    trial.set_constraint("memory", layers * width / 1000 - 1.0)  # at most 0 is kept
    trial.set_constraint("latency", layers / 8 - 1.0)
    return math.log10(rate / 3e-3) ** 2 + 2.0 / math.sqrt(layers) + 20.0 / width


storage = "sqlite:///study.db"  # any number of processes may work on it at the same time
study = optuna.create_study(storage=storage, study_name="network", sampler=MecoSampler(budget=60, seed=1))
study.optimize(train, n_trials=40)

again = optuna.load_study(storage=storage, study_name="network", sampler=MecoSampler(budget=60, seed=2))
again.optimize(train, n_trials=20)
print(again.best_params, again.best_value, again.best_trial.constraints)
assert again.best_value < 1.1
