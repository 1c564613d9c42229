"""A search whose iterations are replayed is the search that is written down, bit for bit."""

import gc
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco.core.arrays import fusing
from meco.core.capabilities import Replay, find_capability
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.rule import Progress
from meco.core.streams import DeviceStreams, Streams
from meco.device import cuda_graphs as graphs
from meco.device.cuda_graphs import GraphReplay, find_recorder
from meco.engines import ENGINES
from meco.engines.de.shade import Shade
from meco.engines.es.maes import MaEs
from meco.method_record import as_method_record
from meco.policies.policy import RandomPolicy
from meco.policies.profile_search import profile_search
from meco.problems.generated import GENERATED, Family, make_batch
from meco.problems.suite import CEC_NAMES
from meco.rules import BalancedPenalty, FeasibilityFirst, FixedEpsilon, StaticPenalty
from meco.rules.names import RULES
from meco.tr.engine import TrustRegion, make_tr_es

torch = pytest.importorskip("torch")
from recorded_on_cpu import Capture, Recording  # noqa: E402 - needs torch

PROBLEMS = [name for name in ("C01", "C06", "C19") for _ in range(2)]
REPLAYED = [
    StaticPenalty(),
    BalancedPenalty(),
    FeasibilityFirst(),
    FixedEpsilon(),
    FixedEpsilon(per_constraint=True),
]
on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA MISSING: replays NOT tested on a GPU")


@pytest.fixture
def recorded(monkeypatch):
    """Iterations on the CPU are recorded; the recordings that were made."""
    made = []

    def graph():
        made.append(Recording())
        return made[-1]

    monkeypatch.setattr(graphs, "draws_on_device", lambda rng: isinstance(rng, DeviceStreams))
    monkeypatch.setattr(torch.backends.cuda, "preferred_linalg_library", lambda name: None)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", graph)
    monkeypatch.setattr(graphs, "capture_graph", Capture)
    return made


def searched(build, budget, device="cpu", names=PROBLEMS, dim=5, x0=None):
    """A whole run of a search on a device, and its evaluator."""
    problems = [meco.get_problem(name, dim) for name in names]
    rng = DeviceStreams(1, len(problems), device)
    evaluator = Evaluator.on(problems, budget, len(problems), rng.xp, device)
    engine = build(Task.of(evaluator, rng, x0))
    Loop(engine, evaluator, find_recorder(rng)).run()
    return engine, evaluator


def plainly(build, *args, **kwargs):
    """The same, every iteration as it is written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GraphReplay, "replay", lambda self: False)
        return searched(build, *args, **kwargs)


def from_buffers(build, *args, **kwargs):
    """The same, every iteration as it is written, on arrays that lie as they do for recordings.

    Linear algebra adds in another order where arrays lie otherwise, and models notice the last bits.
    """

    def refresh_only(self):
        replay = self._replay
        if replay.engine.generation and self._evaluator.all_can_afford(replay.batch_size):
            replay.preallocate()
            self._refresh_buffers()
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GraphReplay, "replay", refresh_only)
        return searched(build, *args, **kwargs)


def assert_same(one, other):
    """Results, traces, last populations and the streams are equal to the last bit."""
    (engine, evaluator), (its, theirs) = one, other
    assert_array_equal(evaluator.nfev, theirs.nfev)
    ours, results = evaluator.results("", range(evaluator.runs)), theirs.results("", range(theirs.runs))
    assert ours.trace.keys() == results.trace.keys()
    for name, values in ours.trace.items():
        assert_array_equal(values, results.trace[name], err_msg=name)
    for name in ("best", "score", "snapshot", "final"):
        (key, *values), (its_key, *its_values) = getattr(ours, name), getattr(results, name)
        for a, b in zip((*key, *values), (*its_key, *its_values)):
            assert_array_equal(a, b, err_msg=name)
    assert_array_equal(ours.nfail, results.nfail)
    assert engine.generation == its.generation
    if engine.population is not None:
        assert_array_equal(engine.population.x.cpu(), its.population.x.cpu())
        assert_array_equal(engine.population.ev.nu.cpu(), its.population.ev.nu.cpu())
    assert_array_equal(engine.task.rng.uniform(3).cpu(), its.task.rng.uniform(3).cpu())


@pytest.mark.parametrize(
    ("build", "rule", "budget"),
    [
        *((build, StaticPenalty(), budget) for build in (MaEs, Shade) for budget in (240, 250)),
        *((Shade, rule, 240) for rule in REPLAYED[1:]),
        *(pytest.param(MaEs, rule, 240, marks=pytest.mark.slow) for rule in REPLAYED[1:]),
    ],
    ids=repr,
)  # 240: the last generation is whole; 250: it is cut
def test_a_replayed_search_is_the_search_as_written(recorded, build, rule, budget):
    def made(task):
        return build(task, rule=rule, pop_size=12)

    assert_same(searched(made, budget), plainly(made, budget))
    assert [graph.replays for graph in recorded] == [20 - (2 if build is MaEs else 3)]


@pytest.mark.parametrize("build", [pytest.param(TrustRegion, marks=pytest.mark.slow), make_tr_es])  # which has it all
def test_a_replayed_model_search_is_the_search_as_written(recorded, build):
    names = ["C01", "C02"]
    assert_same(searched(build, 20, names=names, dim=2), from_buffers(build, 20, names=names, dim=2))
    assert sum(graph.replays for graph in recorded) > 10


@pytest.mark.slow
def test_a_replayed_search_that_holds_profiles_is_the_search_as_written(recorded):
    def made(task):
        return profile_search(RandomPolicy(), task)

    names = ["C01", "C02"]
    assert_same(searched(made, 24, names=names, dim=2), from_buffers(made, 24, names=names, dim=2))
    assert sum(graph.replays for graph in recorded) > 10


def test_given_points_are_learned_from_as_written(recorded):
    x0 = np.random.default_rng(0).random((3, 5))

    def made(task):
        return MaEs(task, rule=StaticPenalty())

    assert_same(searched(made, 100, x0=x0), plainly(made, 100, x0=x0))
    assert sum(graph.replays for graph in recorded) == 12 - 3


def test_failed_points_are_counted_in_replays_too(recorded):
    holed = meco.get_problem("C01", 5)

    def formula(x):
        f, g, h = holed.raw(x)
        return torch.where(x[..., 0] > 20.0, torch.nan, f), g, h

    formula.recordable = True
    problem = replace(holed, formula=formula)
    found = []
    for search in (searched, plainly):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(meco, "get_problem", lambda name, dim: problem)
            found.append(search(lambda task: Shade(task, rule=StaticPenalty(), pop_size=12), 240, names=["C01"] * 2))
    assert_same(*found)
    assert found[0][1].results("", [0, 1]).nfail.min() > 0
    assert [graph.replays for graph in recorded] == [240 // 12 - 3]


@pytest.mark.parametrize("name", ["UAV-01", "RC24", "RC33", "RC44"])
def test_problems_that_wait_for_a_device_are_searched_as_they_are_written(recorded, name):
    problem = meco.get_problem(name)
    rng = DeviceStreams(1, 1, "cpu")
    evaluator = Evaluator.on(problem, 60, 1, rng.xp, "cpu")
    engine = Shade(Task.of(evaluator, rng), rule=StaticPenalty(), pop_size=12)
    Loop(engine, evaluator, find_recorder(rng)).run()
    assert evaluator.is_spent
    assert recorded == []


def kinds(family):
    """What a family is made of: of a mission its own formula."""
    made = GENERATED[family]
    if not isinstance(made, Family):
        return {type(made).__name__}
    blocks = (kind for kind, _ in made.inequalities + made.equalities)
    return {*made.objective, *blocks, made.failing, made.whole, made.simulator, made.noise}


def with_new_kinds():
    """Families in each of which there is something that is in none before."""
    seen, found = set(), []
    for family in sorted(GENERATED):
        if kinds(family) - seen:
            found.append(family)
            seen |= kinds(family)
    return found


NEW = with_new_kinds()


@pytest.mark.parametrize(
    "family", [pytest.param(name, marks=() if name in NEW else pytest.mark.slow) for name in sorted(GENERATED)]
)
def test_generated_problems_are_recorded_too_unless_chance_disturbs_them(recorded, family):
    rng, problems = DeviceStreams(1, 2, "cpu"), make_batch(family, range(2)).problems
    evaluator = Evaluator.on(problems, 60, 2, rng.xp, "cpu", rng)
    engine = Shade(Task.of(evaluator, rng), rule=StaticPenalty(), pop_size=12)
    Loop(engine, evaluator, find_recorder(rng)).run()
    assert evaluator.is_spent
    assert [graph.replays for graph in recorded] == ([] if problems[0].draws else [60 // 12 - 3])


def test_the_reason_why_a_recording_failed_is_told(monkeypatch):
    class Invalid:
        def capture_begin(self):
            pass

        def capture_end(self):
            raise RuntimeError("capture invalidated")

    for name in ("synchronize", "Stream"):
        monkeypatch.setattr(torch.cuda, name, lambda device: None)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    with pytest.raises(ZeroDivisionError), graphs.capture_graph(Invalid(), "cuda"):
        1 / 0
    with pytest.raises(RuntimeError, match="invalidated"), graphs.capture_graph(Invalid(), "cuda"):
        pass


@pytest.mark.parametrize("name", CEC_NAMES)
def test_problems_that_are_said_to_be_recordable_are(recorded, name):
    assert meco.get_problem(name, 6).recordable
    searched(lambda task: Shade(task, rule=StaticPenalty(), pop_size=12), 60, names=[name], dim=6)
    assert [graph.replays for graph in recorded] == [60 // 12 - 3]


def test_a_search_that_stops_early_has_what_it_found_until_then(recorded):
    def stopped(replays):
        rng = DeviceStreams(1, 2, "cpu")
        evaluator = Evaluator.on([meco.get_problem("C01", 5)] * 2, 240, 2, rng.xp, "cpu")
        engine = MaEs(Task.of(evaluator, rng), rule=StaticPenalty(), pop_size=12)
        with pytest.MonkeyPatch.context() as patch:
            if not replays:
                patch.setattr(GraphReplay, "replay", lambda self: False)
            Loop(engine, evaluator, find_recorder(rng)).run(lambda: engine.generation == 9)
        return engine, evaluator

    assert_same(stopped(True), stopped(False))
    assert recorded[0].replays == 7


def test_what_a_rule_does_with_the_progress_is_never_replayed(recorded):
    for rule in (r for r in RULES.values() if not r.ignores_progress):
        searched(lambda task, r=rule: MaEs(task, rule=r), 80)
    assert recorded == []


class Restless(MaEs):
    """Derived from an engine whose iterations are alike, and may have added what makes them differ."""


def test_only_a_method_whose_record_says_so_is_replayed(monkeypatch):
    asked = []
    monkeypatch.setattr("meco.batch_solve.find_recorder", lambda rng: asked.append(rng))
    record = as_method_record(partial(Restless, rule=StaticPenalty()))
    for method, replayed in ((record, False), (replace(record, offers=(Replay,)), True)):
        meco.solve(method, "sphere", budget=20, seeds=[1])
        assert bool(asked) == replayed


def test_two_engines_with_rules_can_be_replayed():
    task = Task.of(Evaluator.on(meco.get_problem("C01", 5), 100), Streams([1]))
    found = {name: find_capability(build(task, rule=StaticPenalty()), Replay) for name, build in ENGINES.items()}
    assert {name for name, replay in found.items() if replay is not None} == {"shade", "maes"}


class Untouchable:
    """Stands for the progress where nobody may look."""

    def __getattr__(self, name):
        raise AssertionError(f"the progress was asked for its {name}")


@pytest.mark.parametrize("rule", [*REPLAYED, *RULES.values()], ids=repr)
def test_a_rule_that_ignores_the_progress_never_looks_at_it(rule):
    engine, _ = searched(lambda task: MaEs(task, rule=rule), 40)
    state, population, u = engine.state, engine.population, engine.u_rule
    if rule.ignores_progress:
        rule.adapt(state, population, Untouchable(), u)
    else:
        with pytest.raises(AssertionError, match="the progress was asked"):
            rule.adapt(state, population, Untouchable(), u)
    assert isinstance(engine.progress(), Progress)


def graph_replay(engine, evaluator):
    """What would replay a search."""
    return GraphReplay(find_capability(engine, Replay), evaluator, lambda: None)


def test_a_value_is_mapped_field_by_field_and_forgets_what_it_derived():
    engine, evaluator = searched(lambda task: MaEs(task, rule=StaticPenalty()), 40)
    replay, ev, seen = graph_replay(engine, evaluator), engine.population.ev, []
    ev.nu, ev.feasible_share
    same = replay._map_value(ev, seen.append)
    assert [id(t) for t in seen] == [id(t) for t in (ev.f, ev.g, ev.h, ev.failed, ev.feasible)]
    assert vars(same).keys() == {"f", "g", "h", "failed", "feasible", "intact", "partial"}
    doubled = replay._map_value(ev, lambda t: t + t)
    assert isinstance(doubled, Evaluation)
    assert_array_equal(doubled.f, 2 * ev.f)
    assert "nu" in vars(ev)


def test_what_holds_no_tensor_stays_the_same_object():
    engine, evaluator = searched(lambda task: Shade(task, rule=StaticPenalty()), 200)
    before = {name: vars(engine)[name] for name in ("task", "rule", "settings", "size", "_u", "_trials")}
    graph_replay(engine, evaluator)._map_tensors(lambda t: t.clone())
    assert all(vars(engine)[name] is value for name, value in before.items())


def test_buffers_hold_what_the_next_iteration_reads_and_nothing_of_the_batch():
    """Problems and noted generations number thousands: an iteration must not walk over them."""
    engine, evaluator = searched(lambda task: MaEs(task, rule=StaticPenalty()), 80)
    seen = []
    graph_replay(engine, evaluator)._map_tensors(seen.append)
    now, held = engine.distribution, evaluator.history.feasible_best.point
    for array in (*now, engine.z, engine.d, engine.population.x, engine.population.ev.g, *held[1:]):
        assert any(t is array for t in seen)
    assert len(seen) == 4 + 2 + 6 + 1 + 2 * 6  # distribution; z, d; population; u_rule; best points


COMPILING = """
import torch, meco, meco.core.arrays
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.device.cuda_graphs import GraphReplay
from meco.engines.{module} import {name}
from meco.rules import {rule}
from meco.core.streams import DeviceStreams

compiled = []

def noted(formula):
    meco.core.arrays.namespace(torch.empty(0))
    return torch.compile(formula, fullgraph=True, backend=lambda graph, inputs: compiled.append(formula) or graph)

meco.core.arrays._compile = noted
rng = DeviceStreams(1, 2, "cpu")
evaluator = Evaluator.on([meco.get_problem(name, 5) for name in ("C01", "C06")], 1000, 2, rng.xp, "cpu")
engine = {name}(Task.of(evaluator, rng), rule={rule}())
loop = Loop(engine, evaluator, GraphReplay)
replay = loop._recording
with meco.core.arrays.fusing():
    for _ in range(7):
        new = engine.generation == 0 or replay._refresh_buffers()
        replay._iterate()
        loop.record_generation()
        assert new or before == len(compiled), compiled[before:]
        before = len(compiled)
assert not new
assert len(compiled) > 5
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name", "rule"), [("es.maes", "MaEs", "StaticPenalty"), ("de.shade", "Shade", "FeasibilityFirst")]
)
def test_all_is_compiled_before_an_iteration_is_recorded(module, name, rule):
    """A compiler tries its kernels out, which a recording does not allow."""
    code = COMPILING.format(module=module, name=name, rule=rule)
    done = subprocess.run([sys.executable, "-W", "error::UserWarning:meco", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "uncompiled" not in done.stderr


@contextmanager
def counted_replays():
    """Each replay on a GPU, as it is made."""
    seen, replay = [], torch.cuda.CUDAGraph.replay
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda.CUDAGraph, "replay", lambda self: (seen.append(self), replay(self)))
        yield seen


@on_cuda
@pytest.mark.parametrize("rule", REPLAYED, ids=repr)
@pytest.mark.parametrize("build", [MaEs, Shade])
@pytest.mark.parametrize("budget", [240, 250])
def test_a_search_replayed_on_a_gpu_is_the_search_as_written(build, rule, budget):
    def made(task):
        return build(task, rule=rule, pop_size=12)

    with counted_replays() as replays:
        replayed = searched(made, budget, "cuda")
    assert_same(replayed, plainly(made, budget, "cuda"))
    assert len(replays) == 20 - (2 if build is MaEs else 3)


@on_cuda
@pytest.mark.parametrize("build", [MaEs, Shade])
def test_compiled_formulas_replayed_on_a_gpu_give_the_search_as_written(build):
    def made(task):
        return build(task, rule=StaticPenalty(), pop_size=12)

    with fusing(), counted_replays() as replays:
        replayed = searched(made, 250, "cuda")
        assert_same(replayed, plainly(made, 250, "cuda"))
    assert len(replays) == 20 - (2 if build is MaEs else 3)


@on_cuda
@pytest.mark.parametrize("build", [TrustRegion, make_tr_es])
def test_a_model_search_replayed_on_a_gpu_is_the_search_as_written(build):
    names = ["C01", "C01", "C02"]
    assert_same(searched(build, 60, "cuda", names), from_buffers(build, 60, "cuda", names))


def test_nothing_is_collected_while_a_graph_is_captured():
    """An older graph that is freed meanwhile would end the capture with an error."""
    with graphs._no_garbage_collected():
        assert not gc.isenabled()
    assert gc.isenabled()
