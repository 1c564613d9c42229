"""49 problems of the CEC 2020 real-world suite (RC01 to RC57 but the paper's eight, which meco has), as a plug-in.

Installed, meco.get_problem("RC07") finds them by the entry points meco.problems. RC34 to RC43 and RC51 to RC57 read the
official tables: `meco data fetch rwco`.
"""

from __future__ import annotations

import meco

NAMES = tuple(f"RC{number:02d}" for number in range(1, 58))


def get_suite() -> list[meco.Problem]:
    """All 57 problems of the suite, the paper's eight among them."""
    return [meco.get_problem(name) for name in NAMES]
