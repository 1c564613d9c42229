"""The answers of a run, with their constraints in one order that the answers themselves tell.

Named constraints may appear at any time: earlier answers are partial there. A list of constraints without names may
grow until the fifth usable answer; after that a longer or shorter one is a failed evaluation. After the first answer
with constraints, one without any is a failed evaluation, earlier ones included: such numbers are penalties.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from meco.core.evaluation import Evaluation
from meco.core.partial_answers import evaluate_partial, has_gaps
from meco.errors import InvalidInput
from meco.run.answer import NO_VALUES, Answer, Fault
from meco.run.equalities import EqualityDefaults

GROWING_ANSWERS = 5  # usable answers until which a list of constraints may grow


class Layout(NamedTuple):
    """How many constraints there are, and their names, "" for those without."""

    n_ineq: int
    n_eq: int
    g_names: tuple[str, ...] = ()
    h_names: tuple[str, ...] = ()

    @property
    def counts(self) -> tuple[int, int]:
        """Inequalities and equalities."""
        return self.n_ineq, self.n_eq

    @property
    def named(self) -> bool:
        """Whether every constraint has a name."""
        return bool(self.n_ineq + self.n_eq) and all(self.g_names) and all(self.h_names)


class PriorEvaluations(NamedTuple):
    """Points whose values are known beforehand, as columns."""

    x: np.ndarray  # [n, D]
    f: np.ndarray  # [n]
    g: np.ndarray  # [n, p]
    h: np.ndarray  # [n, q]

    def to_evaluation(self, ineq_tol: object, eq_tol: object) -> Evaluation:
        """The same values as a search sees them: an evaluation [1, n]; nan is partial or failed."""
        values = self.f[None], self.g[None], self.h[None]
        if has_gaps(*values):
            worst = float(np.max(np.where(np.isfinite(self.f), self.f, -np.inf), initial=-np.inf))
            return evaluate_partial(*values, ineq_tol, eq_tol, worst if np.isfinite(worst) else 0.0)
        return Evaluation.of(*values, ineq_tol, eq_tol)


class Entry(NamedTuple):
    """One call: its number, which try of its point it was, the point [D], and the answer in the order of the layout."""

    number: int
    attempt: int
    x: np.ndarray
    answer: Answer

    @property
    def good(self) -> bool:
        """Whether the call gave a usable answer."""
        return self.answer.fault is Fault.NONE


class Answers:
    """The answers of a run by the number of their call."""

    def __init__(self, expected: int | None = None, equalities: EqualityDefaults | None = None) -> None:
        """None yet; expected is the number of constraints where the user named them."""
        self.expected, self.declared = expected, False
        self.equalities = equalities or EqualityDefaults()  # tolerances of those without one of their own
        self.layout: Layout | None = None
        self.entries: dict[int, Entry] = {}  # in the order in which they came
        self.visible: dict[int, Entry] | None = None  # those that the search knows, where these are not all
        self.calls = 0  # numbers given out
        self.retries = 0  # of them, calls of a point beyond its first
        self.faults: Counter[Fault] = Counter()
        self.first_reason: dict[Fault, str] = {}
        self.partial = False  # whether one tells some values and not others
        self.version = 0  # of the layout: a larger one means that entries were arranged anew
        self._usable = 0  # answers with constraints, which the layout fits
        self._contradicting = 0  # answers with other constraints, before any fitted
        self._pooled: np.ndarray | None = None
        self._told_errors: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def counts(self) -> tuple[int, int]:
        """Inequalities and equalities; (0, 0) before an answer told."""
        return (0, 0) if self.layout is None else self.layout.counts

    def declare(self, n_ineq: int, n_eq: int, g_names: tuple[str, ...] = (), h_names: tuple[str, ...] = ()) -> None:
        """Set the number of constraints before the first answer; names may come with the answers."""
        self.layout, self.declared = Layout(n_ineq, n_eq, g_names, h_names), True

    def enter(self, number: int, attempt: int, x: np.ndarray, answer: Answer) -> bool:
        """Keep the answer to call `number` at x [D]; whether that changed the layout of earlier answers.

        InvalidInput where answers contradict the number of constraints that was given.
        """
        changed = answer.good and self._learn_layout(answer)
        if changed:
            self._rearrange()
        self._keep(Entry(number, attempt, x, self.align(answer)))
        if answer.good:
            self.equalities.note_arrival(number)
        if self.equalities.by_arrival:
            self.fix_equalities()
        return changed

    def fix_equalities(self, calls: int = 1) -> bool:
        """Fix the default tolerances of equalities once the first design is answered: whether that was done now.

        calls is the size of the generation that was answered last.
        """
        entries = self.entries if self.visible is None else self.visible
        return self.equalities.fix(entries, self.counts[1], calls)

    def default_equality_tolerances(self) -> np.ndarray:
        """Tolerances [q] of equalities without one of their own; estimates before they are fixed."""
        entries = self.entries if self.visible is None else self.visible
        return self.equalities.estimate(entries.values(), self.counts[1])

    def align(self, answer: Answer) -> Answer:
        """The answer with its constraints in the order of the layout, nan for those that it left out."""
        layout = self.layout
        sized = layout is not None and (answer.g.size, answer.h.size) == layout.counts
        if layout is None or (sized and answer.g_names == layout.g_names and answer.h_names == layout.h_names):
            return answer
        names = layout.g_names or ("",) * layout.n_ineq, layout.h_names or ("",) * layout.n_eq
        if not answer.good:
            return answer._replace(g_names=names[0], h_names=names[1]) if sized else _without_values(answer)
        parts = _arrange(answer.g, answer.g_names, names[0]), _arrange(answer.h, answer.h_names, names[1])
        fits = parts[0] is not None and parts[1] is not None and (sized or self._may_leave_out(answer))
        if not fits:
            return _without_values(answer._replace(fault=Fault.MISMATCH, reason=self._describe_mismatch(answer)))
        g, h = parts
        assert g is not None
        assert h is not None
        if (np.isnan(g).sum() > np.isnan(answer.g).sum() or np.isnan(h).sum() > np.isnan(answer.h).sum()) and sized:
            missing = next(n for n, v in zip(names[0] + names[1], [*g, *h]) if np.isnan(v))
            said = f"it gave no constraint named {missing!r}"
            return _without_values(answer._replace(fault=Fault.MISMATCH, reason=said))
        se = answer.se
        if se.size:
            ends = 1 + answer.g.size
            more = _arrange(se[1:ends], answer.g_names, names[0]), _arrange(se[ends:], answer.h_names, names[1])
            se = np.concatenate([se[:1], *(part for part in more if part is not None)])
            se = se if np.isfinite(se).all() else NO_VALUES
        return answer._replace(g=g, h=h, g_names=names[0], h_names=names[1], se=se)

    def _may_leave_out(self, answer: Answer) -> bool:
        """Whether an answer with fewer constraints than the layout is a partial one, and no mistake."""
        assert self.layout is not None
        if not answer.g.size + answer.h.size:
            return False
        named = self.layout.named and all(answer.g_names) and all(answer.h_names)
        early = self._usable < GROWING_ANSWERS and not self.declared
        return answer.violates_a_constraint if named else early and answer.violates_a_constraint

    def _learn_layout(self, answer: Answer) -> bool:
        """Take names and further constraints from a usable answer; whether answers before it are arranged anew."""
        layout, sizes = self.layout, (answer.g.size, answer.h.size)
        if (self.declared or self.expected is not None) and self._contradicts(answer):
            return False
        if layout is None:
            self.layout = Layout(*sizes, answer.g_names, answer.h_names)
            self._usable += sum(sizes) > 0
            return False
        if self.declared and not (layout.g_names or layout.h_names):
            if sizes == layout.counts:
                self.layout = layout._replace(g_names=answer.g_names, h_names=answer.h_names)
            return False
        if not sum(sizes) or self.declared:
            return False
        grown = self._grow(layout, answer, sizes)
        self._usable += grown is not layout or sizes == layout.counts
        if grown is layout:
            return False
        self.layout = grown
        return bool(self.entries)

    def _grow(self, layout: Layout, answer: Answer, sizes: tuple[int, int]) -> Layout:
        """The layout with the further constraints of an answer; itself without any, or where it may not grow."""
        if not sum(layout.counts):
            return Layout(*sizes, answer.g_names, answer.h_names)
        if layout.named and all(answer.g_names) and all(answer.h_names):
            g_names = tuple(dict.fromkeys([*layout.g_names, *answer.g_names]))
            h_names = tuple(dict.fromkeys([*layout.h_names, *answer.h_names]))
            if (len(g_names), len(h_names)) == layout.counts:
                return layout
            if answer.violates_a_constraint or set(layout.g_names + layout.h_names) <= set(
                answer.g_names + answer.h_names
            ):
                return Layout(len(g_names), len(h_names), g_names, h_names)
            return layout
        longer = sizes[0] >= layout.n_ineq and sizes[1] >= layout.n_eq and sizes != layout.counts
        if longer and self._usable < GROWING_ANSWERS:
            return Layout(*sizes, answer.g_names, answer.h_names)
        return layout

    def _contradicts(self, answer: Answer) -> bool:
        """Whether an answer has another number of constraints than was given; InvalidInput where most have."""
        wanted = self.counts if self.declared else None
        total = sum(wanted) if wanted is not None else self.expected
        sizes = answer.g.size, answer.h.size
        named = bool(sum(sizes)) and all(answer.g_names) and all(answer.h_names)
        partial = named and answer.violates_a_constraint
        if total is None or (sizes == wanted if wanted is not None else sum(sizes) == total) or partial:
            self._contradicting = -1 if total is not None and not partial else self._contradicting
            return False
        if self._contradicting >= 0:
            self._contradicting += 1
            if self._contradicting >= GROWING_ANSWERS:
                said = f"{sizes[0]} inequalities and {sizes[1]} equalities in the answers of fun"
                if wanted is None:
                    raise InvalidInput(f"tolerances: names has {total} names, but there are {said}")
                raise InvalidInput(f"evaluated has {wanted[0]} and {wanted[1]} constraints, but there are {said}")
        return True

    def _describe_mismatch(self, answer: Answer) -> str:
        """Why an answer does not fit the layout."""
        assert self.layout is not None
        p, q = self.layout.counts
        return f"it gave {answer.g.size} inequalities and {answer.h.size} equalities instead of {p} and {q}"

    def _rearrange(self) -> None:
        """Arrange every entry in the new layout: what it left out is nan, and a number alone has failed."""
        entries, self.entries = self.entries, {}
        self.faults, self._told_errors, self._pooled = Counter(), {}, None
        self.version += 1
        assert self.layout is not None
        g_names, h_names = self.layout.g_names, self.layout.h_names
        for entry in entries.values():
            old = entry.answer
            if old.good and old.g.size + old.h.size:
                g, h = _arrange(old.g, old.g_names, g_names), _arrange(old.h, old.h_names, h_names)
                assert g is not None
                assert h is not None
                old = old._replace(g=g, h=h, g_names=g_names, h_names=h_names, se=NO_VALUES)
            self._keep(entry._replace(answer=self.align(old)))
        self.equalities.begin_again(self.entries, self.counts[1])

    def _keep(self, entry: Entry) -> None:
        """Keep an entry, count its fault, and remember standard errors that it told."""
        answer = entry.answer
        self.entries[entry.number] = entry
        self.partial = self.partial or _has_gaps(answer)
        if not answer.good:
            self.faults[answer.fault] += 1
            if answer.reason:
                self.first_reason.setdefault(answer.fault, answer.reason)
        elif answer.se.size and answer.se.size == 1 + sum(self.counts):
            self._told_errors[entry.number], self._pooled = answer.se, None

    def values(self, answers: Sequence[Answer]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f [n], g [n, p], h [n, q] as a search sees them: nan where a call failed and for what was left out."""
        p, q = self.counts
        if len(answers) == 1 and answers[0].good and (answers[0].g.size, answers[0].h.size) == (p, q):
            return np.array([answers[0].f]), answers[0].g[None].copy(), answers[0].h[None].copy()
        f = np.array([a.f if a.informative else np.nan for a in answers], dtype=np.float64)
        return f, _stack([a.g for a in answers], answers, p), _stack([a.h for a in answers], answers, q)

    def pooled_errors(self) -> np.ndarray | None:
        """Standard error of f, g and h [1 + p + q], pooled over all answers that told theirs; None without any."""
        if self._pooled is None and self._told_errors:
            told = np.array([self._told_errors[n] for n in sorted(self._told_errors)])
            self._pooled = np.sqrt(np.mean(told * told, axis=0))
        return self._pooled

    def worst(self) -> float:
        """The largest finite f of all usable answers; 0 without any."""
        every = (e.answer for e in self.entries.values())
        return max((a.f for a in every if a.good and np.isfinite(a.f)), default=0.0)

    def constraint_names(self, preferred: Iterable[str] = ()) -> tuple[str, ...]:
        """A name for each constraint, inequalities first: the preferred ones where these are as many as there are."""
        (p, q), preferred = self.counts, tuple(preferred)
        if len(preferred) == p + q and preferred:
            return preferred
        g_names, h_names = ((), ()) if self.layout is None else (self.layout.g_names, self.layout.h_names)
        return (
            *(name or f"g{i}" for i, name in enumerate(g_names or ("",) * p, 1)),
            *(name or f"h{i}" for i, name in enumerate(h_names or ("",) * q, 1)),
        )


def _arrange(values: np.ndarray, names: tuple[str, ...], wanted: tuple[str, ...]) -> np.ndarray | None:
    """Values [n] in the order of the wanted names, nan for those that are missing; None where one has no place.

    Values without names fill the places without names in order; as many values as places keep theirs if either side
    has no names at all.
    """
    if names == wanted or (len(values) == len(wanted) and not (any(names) and any(wanted))):
        return values
    found = np.full(len(wanted), np.nan)
    places = {name: i for i, name in enumerate(wanted) if name}
    free = [i for i, name in enumerate(wanted) if not name]
    unnamed = 0
    for value, name in zip(values.tolist(), names or ("",) * len(values)):
        if name:
            if name not in places:
                return None
            found[places[name]] = value
        elif unnamed < len(free):
            found[free[unnamed]] = value
            unnamed += 1
        else:
            return None
    return found


def _has_gaps(answer: Answer) -> bool:
    """Whether an answer has nan beside numbers."""
    if answer.fault is Fault.NONE:
        values = (answer.f, *answer.g.tolist(), *answer.h.tolist())
        return any(value != value for value in values)
    return answer.fault is Fault.NOT_FINITE


def _without_values(answer: Answer) -> Answer:
    """The same failure without its numbers."""
    return Answer(np.nan, fault=answer.fault, reason=answer.reason, cause=answer.cause, where=answer.where)


def _stack(values: Sequence[np.ndarray], answers: Sequence[Answer], width: int) -> np.ndarray:
    """Rows of values as [n, width], nan where an answer tells nothing."""
    if not width:
        return np.empty((len(values), 0))
    blank = np.full(width, np.nan)
    rows = [v if v.size == width and a.informative else blank for v, a in zip(values, answers)]
    return np.frombuffer(bytearray().join([row.tobytes() for row in rows])).reshape(len(rows), width)
