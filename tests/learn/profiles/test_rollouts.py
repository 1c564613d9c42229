"""Rollouts that hold a profile from a drawn decision on, and how runs of several plans go together."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
from numpy.testing import assert_array_equal

from meco.learn.profiles import rollouts as rollouts_file
from meco.learn.profiles.comparison import compare_profiles
from meco.learn.profiles.first_start import list_first_starts
from meco.learn.profiles.rollouts import (
    NEVER,
    SPENT,
    PlannedRuns,
    RolloutPlan,
    digest_runs,
    draw_plan,
    join_runs,
    map_by_place,
    run_rollouts,
    run_together,
)
from meco.learn.tr.training_problems import BudgetedProblem
from meco.policies.policy import RandomPolicy
from meco.tr.profiles import complete_profiles

PROBLEM = BudgetedProblem("ripples-ring", 1, 2, 20)
PROFILES = complete_profiles()
FEW = {name: PROFILES[name] for name in ("default", "before", "missions-5")}


def planned(before, switch, profile, profiles=FEW, seeds=None, policies=()):
    plan = RolloutPlan(*(np.array(part, dtype=float) for part in (before, switch, profile)))
    seeds = [7] * len(before) if seeds is None else seeds
    return PlannedRuns([PROBLEM] * len(before), seeds, plan, profiles, policies, True)


def test_a_run_holds_what_it_should_before_and_after_its_switch(tmp_path):
    runs = planned([1, 0, 2], [0.5, NEVER, 0.0], [2, 1, 0])
    (found,) = run_together([runs], tmp_path)
    ((rows, course, taken),) = found.courses
    assert_array_equal(rows, [0, 1, 2])
    assert_array_equal(taken[:, 0], np.where(course[:, 0, SPENT] < 0.5, 1, 2))
    assert set(taken[:, 1]) == {0}
    assert set(taken[:, 2]) == {0}
    at_switch = course[np.flatnonzero(course[:, 0, SPENT] >= 0.5)[0], 0]
    np.testing.assert_allclose(found.states[0], at_switch, atol=1e-6)
    assert_array_equal(found.states[1], np.zeros(course.shape[-1]))  # it never switched


def test_runs_beside_others_are_the_runs_alone_and_are_made_once(tmp_path, monkeypatch):
    own = {"default": PROFILES["default"], "missions-5": PROFILES["missions-5"]}
    one = planned([0, 2], [0.3, NEVER], [1, 0])
    other = planned([-1, 1], [NEVER] * 2, [0, 0], own, [8, 9], (RandomPolicy(),))
    together = run_together([one, other], tmp_path / "together")
    monkeypatch.setattr(rollouts_file, "run_rollouts", lambda batch: 1 / 0)  # nothing is left to run
    again = run_together([one, other], tmp_path / "together")
    monkeypatch.undo()
    (alone,) = run_together([other], tmp_path / "alone")
    for found in (together[1], again[1]):
        assert_array_equal(found.final.f, alone.final.f)
        assert_array_equal(found.courses[0][2], alone.courses[0][2])
    assert set(alone.courses[0][2][:, 1]) == {1}  # by its own dictionary


def test_joined_runs_have_every_profile_once_and_all_policies():
    own = {"default": PROFILES["default"], "missions-3": PROFILES["missions-3"]}
    policy = (RandomPolicy(),)
    joined, places = join_runs([
        planned([1, -1], [0, 0], [2, 0], policies=policy),
        planned([1, -1], [0, 0], [0, 1], own, policies=policy),
    ])  # fmt: skip
    assert_array_equal(places[0], [0, 1, 2])
    assert_array_equal(places[1], [0, 3])
    assert_array_equal(joined.plan.before, [1, -1, 3, -2])
    assert_array_equal(joined.plan.profile, [2, 0, 0, 3])
    assert len(joined.profiles) == 4


def test_stopped_runs_go_on_with_what_was_stored(tmp_path):
    runs = planned([0], [NEVER], [0])
    assert run_together([runs], tmp_path, stop=lambda: True) is None
    assert not list(tmp_path.iterdir())
    assert run_together([runs], tmp_path) is not None
    assert run_together([runs], tmp_path, stop=lambda: True) is not None


def test_the_digest_tells_plans_apart():
    digests = {
        digest_runs(runs)
        for runs in (
            planned([0], [0.1], [1]), planned([0], [0.2], [1]), planned([1], [0.1], [1]),
            planned([0], [0.1], [1], seeds=[8]), planned([0], [0.1], [1], PROFILES),
            planned([0], [0.1], [1], policies=(RandomPolicy(),)),
        )
    }  # fmt: skip
    assert len(digests) == 6


def test_plans_hold_the_default_most_and_switch_early():
    plan = draw_plan(np.random.default_rng(1), 20_000, 10, follows=True)
    counts = np.bincount(plan.profile.astype(int)) / 20_000
    assert abs(counts[0] - 2 / 11) < 0.01
    assert abs(counts[3] - 1 / 11) < 0.01
    assert abs(np.mean(plan.switch == 0.0) - 0.2) < 0.01
    assert np.median(plan.switch) < 0.3
    assert plan.switch.max() < 0.91
    assert set(draw_plan(np.random.default_rng(1), 500, 3, follows=False).before) == {0.0, 1.0, 2.0}


def test_ways_are_ranked_among_the_runs_of_the_profiles(tmp_path, monkeypatch):
    def fake(batch):
        """Ends at f = number of the profile held from the start, and a policy ends better than all."""
        result = run_first(batch)
        f = np.where(batch.plan.before < 0, -1.0, batch.plan.before)
        return result._replace(final=result.final._replace(f=f, feasible=np.ones(len(f), bool)))

    shape = run_rollouts(rollouts_file.make_batches(planned([0], [NEVER], [0]), "cpu", 9)[0][1])

    def run_first(batch):
        count = len(batch.seeds)
        return shape._replace(
            final=type(shape.final)(*(np.repeat(part, count) for part in shape.final)),
            states=np.repeat(shape.states, count, axis=0), course=np.repeat(shape.course, count, axis=1),
            taken=np.repeat(shape.taken, count, axis=1),
        )  # fmt: skip

    monkeypatch.setattr(rollouts_file, "run_rollouts", fake)
    found = compare_profiles(FEW, {"mine": RandomPolicy()}, [PROBLEM] * 2, 2, tmp_path)
    assert found.names == (*FEW, "mine")
    np.testing.assert_allclose(found.quantiles, [[5 / 6, 0.5, 1 / 6, 1.0]] * 2)
    assert abs(found.scores["mine"] - 1.0) < 1e-12
    np.testing.assert_allclose(found.lead("default", "before"), 1 / 3)
    assert found.taken.shape == (2, 4, shape.taken.shape[0])


def test_batches_for_a_device_go_to_processes_of_their_own_and_come_back_in_order():
    """Nothing of a batch is asked but where it goes."""
    jobs = [(SimpleNamespace(device=device), Path(str(k))) for k, device in enumerate(["cuda", "cpu", "cpu", "cuda"])]

    def marked(mark):
        return lambda work, tasks: [(mark, work(task)) for task in tasks]

    call = map_by_place(marked("core"), marked("device"))
    found = list(call(lambda job: job[1].name, jobs))
    assert found == [("device", "0"), ("core", "1"), ("core", "2"), ("device", "3")]


def test_each_kernel_of_a_training_is_started_once_by_the_sizes_of_its_tiles():
    found = list_first_starts([(10, 6), (9, 7), (20, 20), (64, 3)], "cuda")
    assert len(found) == len(set(found))
    assert [(start.dim, start.rows) for start in found if start.kernel == "program"] == [(32, 32), (16, 8)]
