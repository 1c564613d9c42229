"""Policy files: whole or refused, readable by the official safetensors package, and never code."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as some
from numpy.testing import assert_array_equal

from meco.cli import main
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.errors import DamagedFile, InvalidInput, MissingData, UnknownName
from meco.files.safetensors import pack_tensors, parse_tensors
from meco.paper import files as policy_file
from meco.paper import store as policy_store
from meco.paper.meco import make_meco
from meco.paper.network import Weights, draw_weights
from meco.paper.store import load_policy, policy_names, save_policy
from meco.problems.suite import get_problem

NETWORK = draw_weights(np.random.default_rng(0))
RECORD = {"suite": "cec2017", "dim": 10, "seed": 3, "commit": "0" * 40, "command": "meco train", "log_digest": "ab"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("policies") / "mine.safetensors"
    save_policy(path, NETWORK, RECORD)
    return path


def with_record(tmp_path, **changes):
    """A policy file whose record says something else; None takes the entry out."""
    save_policy(tmp_path / "p.safetensors", NETWORK, RECORD)
    tensors, texts = parse_tensors((tmp_path / "p.safetensors").read_bytes(), "it")
    record = {**json.loads(texts["policy"]), **changes}
    record = {k: v for k, v in record.items() if v is not None}
    changed = tmp_path / "changed.safetensors"
    changed.write_bytes(pack_tensors(tensors, {"policy": json.dumps(record)}))
    return changed


def test_what_is_saved_is_what_is_loaded(whole):
    policy = load_policy(whole)
    for ours, saved in zip(policy.weights, NETWORK):
        assert_array_equal(ours, saved)
    told = policy.metadata
    assert {k: told[k] for k in RECORD} == RECORD
    assert told["name"] == "mine"
    assert (told["feature_version"], told["clip"], told["delta"], told["decoder"]) == (1, 10.0, 1e-3, "geometric")
    assert (told["features"], told["controls"], told["kind"]) == ("population-10", "epsilon", "greedy")
    assert told["grid"][3] == [0.3]
    assert (told["q_output"], told["licence"]) == ("linear", "MIT")
    assert told["library_version"]


def test_the_official_package_reads_our_files(whole):
    for name, tensor in safetensors.numpy.load_file(whole).items():
        assert_array_equal(tensor, getattr(NETWORK, name))
    with safetensors.safe_open(whole, framework="numpy") as file:
        assert json.loads(file.metadata()["policy"])["suite"] == "cec2017"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_we_read_the_files_of_the_official_package(whole, tmp_path, dtype):
    _, texts = parse_tensors(whole.read_bytes(), "it")
    weights = Weights(*(w.astype(dtype) for w in NETWORK))
    texts["policy"] = json.dumps({**json.loads(texts["policy"]), "digest": policy_file.digest_weights(weights)})
    path = tmp_path / "theirs.safetensors"
    safetensors.numpy.save_file(weights._asdict(), path, metadata=texts)
    assert_array_equal(load_policy(str(path)).weights.w2, weights.w2)


def test_a_policy_decodes_its_actions_as_it_was_trained(tmp_path):
    save_policy(tmp_path / "aa.safetensors", NETWORK, {"decoder": "aa", "delta": 0.01})
    task = Task.of(Evaluator.on(get_problem("tilted"), 100), Streams([1]))
    rule = make_meco(task, policy=tmp_path / "aa.safetensors").engine.rule
    assert (rule.decoder.name, rule.decoder.delta) == ("aa", 0.01)


@given(data=some.data())
@settings(max_examples=150, deadline=None)
def test_a_changed_byte_is_refused_or_harmless(whole, data):
    """Either DamagedFile, or the very weights that were saved."""
    content = bytearray(whole.read_bytes())
    header = 8 + int.from_bytes(content[:8], "little")
    place = data.draw(some.one_of(some.integers(0, header - 1), some.integers(0, len(content) - 1)))
    content[place] = data.draw(some.integers(0, 255))
    try:
        tensors, texts = parse_tensors(bytes(content), "it")
        weights = policy_file.check_weights(tensors, "it")
        told = policy_file.check_metadata(texts, "it")
    except DamagedFile:
        return
    if told["digest"] == policy_file.digest_weights(weights):
        for ours, saved in zip(weights, NETWORK):
            assert_array_equal(ours, saved)


@given(length=some.integers(min_value=0))
@settings(max_examples=100, deadline=None)
def test_a_file_cut_short_is_refused(whole, length):
    content = whole.read_bytes()
    with pytest.raises(DamagedFile):
        parse_tensors(content[: length % len(content)], "it")


@given(content=some.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_refused(content):
    with pytest.raises(DamagedFile):
        policy_file.check_weights(parse_tensors(content, "it")[0], "it")


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
ENTRY = some.fixed_dictionaries(
    {"dtype": some.sampled_from(["F64", "F32", "I64"]) | JSON, "shape": JSON, "data_offsets": JSON}
)


@given(header=some.dictionaries(some.sampled_from([*Weights._fields, "__metadata__"]), ENTRY | JSON) | JSON)
@settings(max_examples=30, deadline=None)
def test_any_header_is_refused(header):
    text = json.dumps(header).encode()
    content = len(text).to_bytes(8, "little") + text + bytes(64)
    with pytest.raises(DamagedFile):
        policy_file.check_weights(parse_tensors(content, "it")[0], "it")


@given(record=JSON)
@settings(max_examples=100, deadline=None)
def test_any_record_is_refused(record):
    with pytest.raises(DamagedFile):
        policy_file.check_metadata({"policy": json.dumps(record)}, "it")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"feature_version": 2}, "features of version 2; this library computes version 1"),
        ({"feature_version": None}, "features of version None"),
        ({"clip": 5.0}, "clip must be 10.0; got 5.0"),
        ({"controls": None}, "controls must be one of epsilon, .*epsilon-aa, epsilon-ca.*; got None"),
        ({"controls": "theta"}, "controls must be one of epsilon, .*epsilon-aa, epsilon-ca.*; got 'theta'"),
        ({"features": "model-30"}, "features must be one of population-10.*; got 'model-30'"),
        ({"kind": "oracle"}, "kind must be one of greedy; got 'oracle'"),
        ({"grid": [0.0, 1.0]}, "the grid of 'epsilon'"),
        ({"delta": -1.0}, "delta must be a positive number"),
        ({"q_output": "softmax"}, "q_output must be one of linear, sigmoid"),
        ({"digest": "0"}, "not the ones that were saved"),
    ],
)
def test_a_record_we_cannot_act_on_is_refused_and_said_why(tmp_path, changes, complaint):
    with pytest.raises(DamagedFile, match=complaint):
        load_policy(with_record(tmp_path, **changes))


def file_of(header: bytes, data: bytes = b"") -> bytes:
    return len(header).to_bytes(8, "little") + header + data


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "no header within its 0 bytes"),
        ((1 << 40).to_bytes(8, "little") + b"{}", "no header within"),
        (file_of(b"[1, 2]"), "no JSON object"),
        (file_of(b'{"w1": 1, "w1": 2}'), "occurs twice"),
        (file_of(b"\xff\xfe"), "cannot be read"),
        (file_of(b"[" * 100000), "cannot be read"),
        (file_of(b'{"__metadata__": {"a": 1}}'), "texts by name"),
        (file_of(b'{"w1": {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]}}', b"ab"), "got 'F16'"),
        (file_of(b'{"w1": {"dtype": "F64", "shape": [2], "data_offsets": [0, 8]}}', bytes(8)), "does not fill 8 bytes"),
        (file_of(b'{"w1": {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}}', bytes(16)), "not from 0"),
        (file_of(b'{"w1": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}', bytes(9)), "belong to no tensor"),
        (file_of(b'{"w1": {"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]}}', bytes(8)), "must be sizes"),
        (file_of(b'{"w1": {"dtype": "F64", "shape": [1]}}', bytes(8)), "must have dtype, shape and data_offsets"),
    ],
)
def test_a_damaged_header_is_refused_and_said_why(content, complaint):
    with pytest.raises(DamagedFile, match=complaint):
        parse_tensors(content, "it")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"w1": np.zeros((10, 63))}, r"w1 must have shape \(10, 64\); got \(10, 63\)"),
        ({"b2": np.full(11, np.nan)}, "b2 holds values that are not finite"),
        ({"w3": np.zeros(1)}, "must hold the tensors w1, b1, w2, b2; got b1, b2, w1, w2, w3"),
    ],
)
def test_other_networks_are_refused(changes, complaint):
    with pytest.raises(DamagedFile, match=complaint):
        policy_file.check_weights({**NETWORK._asdict(), **changes}, "it")


def test_nothing_is_left_behind_by_a_policy_that_cannot_be_saved(tmp_path):
    path = tmp_path / "p.safetensors"
    with pytest.raises(InvalidInput, match="w1 must have shape"):
        save_policy(path, NETWORK._replace(w1=np.zeros((3, 3))))
    with pytest.raises(InvalidInput, match="cannot save"):
        save_policy(path, NETWORK, {"reward": float("nan")})
    with pytest.raises(UnknownName, match="no decoder"):
        save_policy(path, NETWORK, {"decoder": "cubic"})
    assert list(tmp_path.iterdir()) == []


def test_a_missing_policy_is_named_with_the_way_out(tmp_path, monkeypatch):
    with pytest.raises(MissingData, match=r"no policy file '/nowhere/p.safetensors'"):
        load_policy("/nowhere/p.safetensors")
    monkeypatch.setattr(policy_store, "policy_folders", lambda: [tmp_path])
    assert policy_names() == []
    with pytest.raises(MissingData, match="train one with `meco train`"):
        load_policy("meco-10d")
    for name in ("meco-loo50-C10", "meco-100d", "meco-loo50-C02", "meco-10d"):
        save_policy(tmp_path / f"{name}.safetensors", NETWORK)
    assert policy_names() == ["meco-10d", "meco-100d", "meco-loo50-C02", "meco-loo50-C10"]
    with pytest.raises(UnknownName, match="did you mean 'meco-10d'"):
        load_policy("meco10d")
    assert load_policy("meco-loo50-C02").metadata["name"] == "meco-loo50-C02"


def test_every_shipped_policy_is_whole():
    for name in (name for name in policy_names() if name.startswith("meco-")):
        assert load_policy(name).metadata["name"] == name


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A library of two policies, one with a complete record and its log."""
    monkeypatch.setattr(policy_store, "policy_folders", lambda: [tmp_path])
    log = b"{}\n"
    (tmp_path / "meco-10d.training.jsonl").write_bytes(log)
    save_policy(
        tmp_path / "meco-10d.safetensors", NETWORK, {**RECORD, "seed": 0, "log_digest": hashlib.sha256(log).hexdigest()}
    )
    save_policy(tmp_path / "meco-30d.safetensors", NETWORK)
    return tmp_path


def test_the_command_lists_shows_and_verifies(shelf, capsys):
    assert main(["policy", "list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[1].split() == ["meco-10d", "cec2017", "10", "epsilon", "0", "0" * 12]
    assert main(["policy", "list", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"meco-10d", "meco-30d"}
    assert main(["policy", "show", "meco-10d"]) == 0
    assert "command          meco train" in capsys.readouterr().out
    assert main(["policy", "show", "meco-10d", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dim"] == 10
    assert main(["policy", "verify", "meco-10d"]) == 0
    assert capsys.readouterr().out == "meco-10d: whole\n"
    assert main(["policy", "verify", "all"]) == 1
    assert "meco-30d.safetensors: its training record lacks command" in capsys.readouterr().out
    assert main(["policy", "show", "meco-11d"]) == 2
    assert "did you mean 'meco-10d'?" in capsys.readouterr().err


def test_a_policy_trained_by_an_installed_package_is_whole_by_its_version(shelf, capsys):
    record = {**RECORD, "seed": 0, "commit": None, "log_digest": "0", "versions": {"meco": "0.3.0"}}
    save_policy(shelf / "mine.safetensors", NETWORK, record)
    assert policy_store.verify_policy("mine") == []
    save_policy(shelf / "mine.safetensors", NETWORK, {**record, "versions": {}})
    assert "lacks commit" in policy_store.verify_policy("mine")[0]


def test_the_columns_of_the_list_hold_long_entries(shelf, capsys):
    save_policy(shelf / "meco-wide.safetensors", NETWORK, {**RECORD, "seed": 3, "dim": [2, 5, 10, 20]})
    assert main(["policy", "list"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert {line[head.index("seed") + 3] for line in lines} == {"0", "3", "-"}
    assert lines[-1].split()[2] == "2,5,10,20"


def test_verify_finds_another_log_and_damaged_weights(shelf, capsys):
    (shelf / "meco-10d.training.jsonl").write_bytes(b"other")
    assert "is not the log of the training" in policy_store.verify_policy("meco-10d")[0]
    path = shelf / "meco-30d.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x00")
    assert "not the ones that were saved" in policy_store.verify_policy("meco-30d")[0]
    assert main(["policy", "list"]) == 0
    assert "damaged, see `meco policy verify meco-30d`" in capsys.readouterr().out


def test_policies_are_found_in_the_folder_that_the_environment_names(tmp_path, monkeypatch):
    monkeypatch.setattr(policy_store, "REPOSITORY", tmp_path / "nowhere")
    assert policy_names() == ["meco-10d"]
    with pytest.raises(MissingData, match="set MECO_POLICIES to that file"):
        load_policy("meco-loo50-C01")
    save_policy(tmp_path / "mine.safetensors", NETWORK)
    monkeypatch.setenv("MECO_POLICIES", str(tmp_path))
    assert policy_names() == ["meco-10d", "mine"]
    assert load_policy("mine").metadata["name"] == "mine"


def test_a_checkout_has_the_policies_of_the_experiments_and_the_package_only_what_minimize_needs():
    assert {"meco-relaxed-loo50-C01", "meco-score-split-30d"} <= set(policy_names())
    assert sum(p.stat().st_size for p in policy_store.PACKAGE_FOLDER.iterdir()) <= 60_000
    assert {p.suffix for p in policy_store.PACKAGE_FOLDER.iterdir() if not p.name.startswith(".")} == {".safetensors"}
