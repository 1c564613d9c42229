"""A black box that is not Python: a program that reads one JSON file and writes another."""

import stat
from pathlib import Path

import meco

PROGRAM = """#!/bin/sh
# {"x": [a, b], "id": n} -> {"f": a*a + b*b, "g": [1 - a]}
awk -F'[][,]' '{ printf "{\\"f\\": %.17g, \\"g\\": [%.17g]}", $2*$2 + $3*$3, 1 - $2 }' "$1" > "$2"
"""

program = Path("simulate.sh")
program.write_text(PROGRAM)
program.chmod(program.stat().st_mode | stat.S_IXUSR)

simulate = meco.Command("./simulate.sh {input} {output}")
try:
    result = meco.minimize(simulate, bounds=[(-5, 5)] * 2, budget=60, seed=1, workers=2)
finally:
    simulate.close()
print(result.message)
assert result.run.nfail == 0
assert result.feasible
