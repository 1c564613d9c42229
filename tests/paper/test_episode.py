"""Episodes: the contract, exact budgets, lockstep to the last bit, and the same run as solve()."""

from __future__ import annotations

import subprocess
import sys

import array_api_compat.torch as torch_xp
import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.core.arrays import namespace, to_numpy
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.problem import Problem
from meco.core.streams import Streams
from meco.engines.de.shade import Shade
from meco.engines.es.maes import MaEs
from meco.errors import InvalidInput
from meco.paper import (
    DECODERS,
    ConstantPolicy,
    Episode,
    EpsilonGreedy,
    Greedy,
    Masked,
    RandomPolicy,
    ReferenceObjective,
)
from meco.paper.action import ACTION_GRID
from meco.paper.controller import Controller
from meco.paper.controls import CONTROLS, find_control_set_name
from meco.paper.features import FEATURES
from meco.paper.meco import steer_relaxation
from meco.paper.network import draw_weights
from meco.paper.reading import RELAXED
from meco.paper.relaxation import SteeredEpsilon
from meco.rules.epsilon import DELTA, decode_action, relaxed_violation

POLICY = Greedy(draw_weights(np.random.default_rng(12)))


def cec(*names, dim=10):
    return [meco.get_problem(n, dim=dim) for n in names]


def play(episode, actions=None, seed=0):
    """All states, rewards and ends of an episode; actions [T, B], at random on the grid unless given."""
    states, rewards, done = [episode.reset()], [], np.array([False])
    rng, grid, t = np.random.default_rng(seed), episode.rule.decoder.grid, 0
    while not to_numpy(done).all():
        a = rng.choice(grid, len(episode.seeds)) if actions is None else actions[t]
        s, r, done = episode.step(a)
        states.append(s)
        rewards.append(r)
        t += 1
    return np.stack([to_numpy(s) for s in states]), np.stack([to_numpy(r) for r in rewards])


def fragile(rate):
    """A problem that fails where its first variable is large; rate is the share of the box that works."""

    def formula(x):
        xp = namespace(x)
        f = xp.sum(x * x, axis=-1)
        return xp.where(x[..., 0] > rate, xp.nan, f), [0.5 - x[..., 1]], []

    return Problem(f"fragile-{rate}", np.zeros(4), np.ones(4), 1, 0, formula)


def test_an_episode_speaks_the_contract():
    episode = Episode(cec("C01")[0], seeds=[1, 2, 3])
    s = episode.reset()
    assert s.shape == (3, 10)
    assert_array_equal(s[:, [4, 5, 8]], np.tile([1.0, 0.1, 0.0], (3, 1)))  # f_best, 50 of 500 spent, no action
    s, r, done = episode.step([0.0, 0.5, 1.0])
    assert (s.shape, r.shape, done.shape, done.dtype) == ((3, 10), (3,), (3,), bool)
    assert_array_equal(s[:, 8], [0.0, 0.5, 1.0])
    assert episode.x.shape == (3, 50, 10)
    assert (episode.f.shape, episode.c.shape) == ((3, 50), (3, 50, 1))
    f, g, _ = cec("C01")[0].raw(episode.x)
    assert_allclose(f, episode.f, rtol=1e-12)
    assert_allclose(np.maximum(g, 0), episode.c, rtol=1e-9, atol=1e-9)


def test_an_episode_spends_its_budget_exactly_and_then_ends():
    for budget, steps in ((500, 9), (501, 10), (99, 1)):
        episode = Episode("tilted", [1, 2], budget)
        _, rewards = play(episode)
        assert len(rewards) == steps
        assert episode.nfev.tolist() == [budget, budget]
        assert [r.nfev for r in episode.results()] == [budget, budget]
        with pytest.raises(InvalidInput, match="reset"):
            episode.step([0.5, 0.5])


def test_impossible_episodes_and_actions_are_refused():
    with pytest.raises(InvalidInput, match="a budget of 50 ends with the first population"):
        Episode("tilted", [1], 50).reset()
    episode = Episode("tilted", [1, 2])
    with pytest.raises(InvalidInput, match=r"reset\(\) first"):
        episode.step([0.0, 0.0])
    episode.reset()
    for wrong, complaint in (
        ([0.5], r"shape \(2,\); got \(1,\)"),
        ([0.5, 1.1], r"\[0, 1\]"),
        ([np.nan, 0], r"\[0, 1\]"),
    ):
        with pytest.raises(InvalidInput, match=complaint):
            episode.step(wrong)
    with pytest.raises(meco.errors.UnknownName, match="reward"):
        Episode("tilted", [1], reward="r3")


def test_actions_are_checked_in_other_array_libraries_too():
    torch, xp = pytest.importorskip("torch"), pytest.importorskip("array_api_compat.torch")
    episode = Episode("tilted", [1, 2], xp=xp, device="cpu")
    episode.reset()
    for wrong in ([0.5, 7.0], [0.5, np.nan]):
        with pytest.raises(InvalidInput, match="actions must lie in"):
            episode.step(torch.tensor(wrong, dtype=torch.float64))


def test_row_b_is_run_b_alone_also_among_other_problems():
    """C02 has one constraint, C03 two, C23 two of other kinds: padding must not show in any bit."""
    problems, seeds = cec("C02", "C03", "C23", "C02"), [5, 6, 7, 8]
    actions = np.random.default_rng(3).choice(ACTION_GRID, (9, 4))
    together = Episode(problems, seeds)
    states, rewards = play(together, actions)
    for b in range(4):
        alone = Episode(problems[b], [seeds[b]])
        s, r = play(alone, actions[:, b : b + 1])
        assert_array_equal(states[:, b], s[:, 0])
        assert_array_equal(rewards[:, b], r[:, 0])
        assert_array_equal(together.x[b], alone.x[0])
        assert together.results()[b].score == alone.results()[0].score


@pytest.mark.parametrize("decoder", DECODERS)
def test_the_greedy_policy_through_an_episode_is_the_run_that_solve_makes(decoder):
    policy = Greedy(POLICY.weights, {"decoder": decoder})
    episode = Episode(cec("C21")[0], [3, 4], decoder=DECODERS[decoder], reading=RELAXED)
    s, done = episode.reset(), np.array([False])
    while not done.all():
        s, _, done = episode.step(DECODERS[decoder].grid[policy.act(s, None)])
    solved = meco.solve("MeCO", cec("C21")[0], seeds=[3, 4], policy=policy)
    for ours, theirs in zip(episode.results(), solved):
        assert_array_equal(ours.x, theirs.x)
        assert_array_equal(ours.paper.x_score, theirs.paper.x_score)
        assert (ours.f, ours.nu, ours.score) == (theirs.f, theirs.nu, theirs.score)
        assert ours.paper.final_score == theirs.paper.final_score
        assert_array_equal(ours.trace["action"][:-1], theirs.trace["action"][:-1])
        assert_array_equal(ours.trace["eps"][:-1], theirs.trace["eps"][:-1])
        assert_array_equal(ours.trace["nfev"], theirs.trace["nfev"])


def test_a_run_on_torch_tensors_equals_numpy_over_twenty_generations():
    for name in ("C01", "C04", "C21"):
        problem = meco.get_problem(name, dim=21)
        ours = meco.solve("MeCO", problem, budget=1050, seeds=[1, 2], policy=POLICY)
        theirs = meco.solve("MeCO", problem, budget=1050, seeds=[1, 2], policy=POLICY, xp=torch_xp)
        for a, b in zip(ours, theirs):
            assert len(a.trace["action"]) == 21
            assert_array_equal(a.trace["action"], b.trace["action"])
            assert_allclose(b.trace["score"], a.trace["score"], rtol=1e-9)
            assert_allclose(b.paper.final.x, a.paper.final.x, rtol=1e-9, atol=1e-9)


def test_an_episode_runs_on_strict_arrays():
    ours = play(Episode("ring", [1, 2], 300), seed=1)
    theirs = play(Episode("ring", [1, 2], 300, xp=array_api_strict), seed=1)
    assert_allclose(theirs[0], ours[0], rtol=1e-12, atol=1e-12)
    assert_allclose(theirs[1], ours[1], rtol=1e-12, atol=1e-12)


def test_no_array_leaves_its_device():
    """The strict library refuses to mix devices, so this finds what would break on an accelerator."""
    device = array_api_strict.Device("device1")
    problems = [meco.get_problem(name) for name in ("tilted", "ring")]
    episode = Episode(problems, [1, 2], 200, xp=array_api_strict, device=device)
    arrays = [episode.reset(), *episode.step([0.1, 0.9]), episode.x, episode.f, episode.c, episode.best_objective]
    assert all(a.device == device for a in arrays)
    for policy in (POLICY, RandomPolicy(), Masked(EpsilonGreedy(POLICY.weights)), ConstantPolicy(3)):
        evaluator = Evaluator.on(problems, 150, 2, array_api_strict, device)
        engine = steer_relaxation(policy, Task.of(evaluator, Streams([1, 2], array_api_strict, device)), "epsilon")
        Loop(engine, evaluator).run()
        assert engine.engine.state.eps.device == device


def test_f_best_is_stored_under_the_allowance_of_its_selection():
    """Recomputed from the present population with plain loops after every step."""
    episode = Episode(cec("C22")[0], [1, 2], reading=RELAXED)
    episode.reset()
    base = np.maximum(episode.c.mean(axis=1), DELTA)
    assert_allclose(episode.engine.state.base, base)
    lowest = episode.population_summary.f_best
    for a in np.random.default_rng(0).choice(ACTION_GRID, (6, 2)):
        episode.step(a)
        for b in range(2):
            eps = [v ** a[b] * DELTA ** (1 - a[b]) for v in base[b]]
            rank = [(sum(max(v - e, 0) for v, e in zip(c, eps)), f) for c, f in zip(episode.c[b], episode.f[b])]
            assert episode.population_summary.f_best[b] == min(rank)[1]
        lowest = np.minimum(lowest, episode.population_summary.f_best)
        assert_array_equal(episode.best_objective, lowest)


def test_rewards_follow_the_stored_summaries():
    episode = Episode(cec("C01")[0], [4], references=np.array([0.0]))
    episode.reset()
    before, first = episode.population_summary, episode.first_population
    _, r, _ = episode.step([0.8])
    after = episode.population_summary
    nu0 = max(first.nu_bar[0], 1e-8)
    scale = max(first.f_best[0] - 0.0, 1e-3 * (first.f_worst[0] - first.f_min[0]))
    r1 = np.clip((before.f_best[0] - after.f_best[0]) / scale, -1, 1)
    r2 = np.clip((before.nu_bar[0] - after.nu_bar[0]) / nu0, -1, 1)
    omega = np.clip(after.nu_bar[0] / nu0, 0, 1)
    assert r[0] == pytest.approx(((1 - omega) * r1 + r2) / 2, abs=1e-14)


def test_the_reference_objective_moves_only_when_an_episode_ends():
    known = ReferenceObjective()
    problems = cec("C01", "C02")
    episode = Episode(problems, [1, 2], 150, references=known)
    episode.reset()
    episode.step([0.9, 0.9])
    assert known.least == {}
    episode.step([0.9, 0.9])
    assert_array_equal(known.look_up(["C01", "C02"]), episode.best_objective)
    held = dict(known.least)
    Episode(problems, [1, 2], 150, references=known).reset()
    assert known.least == held


def test_reset_repeats_an_episode_or_takes_new_seeds():
    episode = Episode("tilted", [1, 2], 200)
    first = episode.reset()
    episode.step([0.1, 0.2])
    assert_array_equal(episode.reset(), first)
    assert_array_equal(episode.reset(seeds=[2, 1]), first[::-1])


def test_permuting_the_constraints_changes_neither_states_nor_rewards():
    problem = meco.get_problem("C05", dim=10)

    def formula(x):
        f, g, h = problem.raw(x)
        return f, g[..., ::-1], h

    turned = Problem("turned", problem.lower, problem.upper, problem.n_ineq, problem.n_eq, formula)
    assert problem.n_ineq > 1
    ours, theirs = play(Episode(problem, [1, 2], 250)), play(Episode(turned, [1, 2], 250))
    assert_allclose(theirs[0], ours[0], atol=1e-12, rtol=0)
    assert_allclose(theirs[1], ours[1], atol=1e-12, rtol=0)


def test_failing_candidates_neither_break_nor_enter_an_episode():
    episode = Episode(fragile(0.5), [1, 2])
    states, rewards = play(episode)
    assert np.isfinite(states).all()
    assert np.isfinite(rewards).all()
    episode.reset()
    good = ~np.isnan(episode.f[0])
    assert 5 < good.sum() < 45
    assert episode.s[0, 2] == pytest.approx(episode.x[0][good].mean(), rel=1e-12)
    assert episode.engine.state.base[0, 0] == pytest.approx(episode.c[0][good].mean(), rel=1e-12)


def test_a_run_that_begins_with_failures_alone_is_measured_from_its_first_success():
    lost = Evaluation.of(np.full((2, 6), np.nan), np.ones((2, 6, 1)), np.zeros((2, 6, 0)))
    rng = np.random.default_rng(0)
    f, g = rng.random((2, 6)), rng.random((2, 6, 1))
    f[1] = np.nan  # the second run goes on failing
    found = Evaluation.of(f, g, np.zeros((2, 6, 0)))
    for name, decoder in DECODERS.items():
        problem = Problem("six", np.zeros(3), np.ones(3), 1, 0, None)
        engine = Shade(Task.of(Evaluator.on(problem, 60, 2), Streams([1, 2])), SteeredEpsilon(decoder), pop_size=6)
        control = Controller(engine, FEATURES["population-10"], CONTROLS[find_control_set_name(name)])
        engine.tell(engine.ask(), lost)
        control.observe()
        assert not control.memory.complete
        assert_array_equal(engine.state.eps, [[DELTA], [DELTA]])
        control.steer({decoder.control.name: np.zeros(2)})
        engine.tell(engine.ask(), found)
        s = control.observe()
        assert_allclose(engine.state.base, [[g[0].mean()], [DELTA]])
        assert control.memory.first.f_worst[0] == f[0].max()
        assert s[0, 1] > 0
        last = DELTA if name == "threshold" else 0.0  # which shows the relaxation as s9, not the action
        assert_array_equal(s[1], [0, 0, 0, 0, 0, 0.2, 0, 0, last, 0])
        assert not engine.state.complete
        assert not control.memory.complete


def test_the_steered_rule_compares_by_eq_2_and_the_controller_tells_what_it_did():
    problem = Problem("six", np.zeros(3), np.ones(3), 2, 0, None)
    task = Task.of(Evaluator.on(problem, 60, 2), Streams([1, 2]))
    search = steer_relaxation(RandomPolicy(), task, "epsilon", pop_size=6)
    search.chance = lambda: np.array([[0.1, 0.5], [0.9, 0.95]])
    rng = np.random.default_rng(1)
    ev = Evaluation.of(rng.random((2, 6)), rng.random((2, 6, 2)), np.zeros((2, 6, 0)))
    search.tell(search.ask(), ev)
    engine = search.engine
    assert_allclose(search.trace()["action"], [0.5, 1.0])  # floor(11 u) / 10
    assert_allclose(engine.state.eps, decode_action(np.array([0.5, 1.0]), ev.c.mean(axis=1)))
    assert_array_equal(engine.key(ev).major, relaxed_violation(ev.c, engine.state.eps))
    assert set(search.trace()) == {"action", "eps"}


def test_an_episode_runs_on_the_evolution_strategy():
    episode = Episode(cec("C01")[0], [1, 2], pop_size=None, engine=MaEs)
    states, rewards = play(episode)
    assert np.isfinite(states).all()
    assert np.isfinite(rewards).all()
    assert episode.x.shape == (2, 10, 10)
    alone = play(Episode(cec("C01")[0], [2], pop_size=None, engine=MaEs), np.tile(0.5, (99, 1)))
    both = play(Episode(cec("C01")[0], [1, 2], pop_size=None, engine=MaEs), np.tile(0.5, (99, 2)))
    assert_array_equal(both[0][:, 1], alone[0][:, 0])


def test_an_episode_needs_numpy_alone():
    code = (
        "import sys; from meco.paper import Episode; e = Episode('tilted', [1], 150); e.reset(); e.step([0.5]);"
        "print([m for m in ('torch', 'scipy', 'array_api_compat', 'safetensors') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
