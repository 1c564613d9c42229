"""Noise in functions of any unit."""

import numpy as np
import pytest

import meco


@pytest.mark.parametrize(
    "scale",
    [
        1e-150,
        1.0,
        1e150,
        *(
            pytest.param(
                scale,
                marks=pytest.mark.xfail(
                    strict=True, reason="variances underflow and overflow until the noise extension is rewritten"
                ),
            )
            for scale in (1e-170, 1e200)
        ),
    ],
)
def test_the_unit_of_noisy_functions_does_not_matter(scale):
    random = np.random.default_rng(1)

    def simulate(x):
        noise = random.normal(size=2)
        return scale * (x @ x + 0.1 * noise[0]), [scale * (1 - x[0] + 0.05 * noise[1])]

    found = meco.minimize(simulate, [(-4.0, 4.0)] * 2, budget=100, seed=1, noise=True, tolerances=0.0)
    assert found.probability is not None
    assert found.success
