"""A problem that keeps what it was asked."""

import numpy as np

import meco


def recording(dim=3, fail_every=0):
    """A problem that keeps what it was asked."""
    base = meco.get_problem("corner", dim)
    asked = []

    def formula(x):
        asked.append(x.reshape(-1, dim).copy())
        f, g, h = base.raw(x)
        if fail_every:
            f = np.where((np.arange(f.size).reshape(f.shape) % fail_every) == 0, np.nan, f)
        return f, g, h

    return meco.Problem("recording", base.lower, base.upper, 2, 1, formula), asked
