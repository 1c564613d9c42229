"""The platform: what results depend on in their last bits is pinned, told apart and found out once."""

import os
import subprocess
import sys

import pytest

from meco.core import platform
from meco.core.platform import describe_platform, digest_arithmetic, pin_platform, pinned_variables
from meco.core.thread_variables import ONE_THREAD

PINNED = "from meco.core.platform import *; pin_platform(); print(describe_platform().facts['arithmetic'])"


def arithmetic_of(code, **variables):
    """What a fresh process says its arithmetic is."""
    clean = {name: value for name, value in os.environ.items() if name not in pinned_variables()}
    ran = subprocess.run(
        [sys.executable, "-c", code], env={**clean, **variables}, capture_output=True, text=True, check=True
    )
    return ran.stdout.strip()


@pytest.mark.skipif(not pinned_variables().keys() - ONE_THREAD.keys(), reason="KERNELS ARE PINNED ON x86 ALONE")
def test_pinned_processes_compute_alike_whatever_kernel_the_processor_would_get():
    plain = arithmetic_of(PINNED)
    assert arithmetic_of(PINNED, **pinned_variables()) == plain
    older = arithmetic_of(PINNED, OPENBLAS_CORETYPE="Prescott")  # what is set stays
    assert older != plain


def test_a_process_that_has_loaded_numpy_is_left_alone(monkeypatch):
    for name in pinned_variables():
        monkeypatch.delenv(name, raising=False)
    pin_platform()
    assert not set(pinned_variables()) & set(os.environ)


def test_a_platform_is_named_by_its_arithmetic_versions_and_settings(monkeypatch):
    here = describe_platform()
    assert here is describe_platform()
    assert here.facts["arithmetic"] == digest_arithmetic()
    assert {"numpy", "arithmetic"} <= set(here.facts)
    describe_platform.cache_clear()
    monkeypatch.setattr(platform, "digest_arithmetic", lambda: "other")
    try:
        assert describe_platform().digest != here.digest
    finally:
        describe_platform.cache_clear()


def test_other_machines_have_no_kernels_to_pin(monkeypatch):
    monkeypatch.setattr(platform.platform, "machine", lambda: "arm64")
    assert pinned_variables() == ONE_THREAD
