"""Every call of a run, in memory: the one record that results, replays and the log on disk are made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from meco.blackbox.answers import NOTHING, Answer, Fault
from meco.errors import InvalidInput
from meco.problems.evaluation import Evaluation, Evaluations
from meco.results import EvaluationTable, stacked

JURY = 9  # well-formed answers whose majority decides what the constraints are


class Entry(NamedTuple):
    """One call: its number, the batch and attempt it belongs to, the point, and the answer with its own layout."""

    number: int
    batch: int
    attempt: int
    fault: Fault
    x: np.ndarray  # [D]
    f: float
    g: np.ndarray = NOTHING  # [p]; [0] where there are no numbers
    h: np.ndarray = NOTHING
    g_names: tuple[str, ...] = ()
    h_names: tuple[str, ...] = ()

    @classmethod
    def of(cls, number: int, batch: int, attempt: int, x: np.ndarray, answer: Answer) -> Entry:
        """The entry of an answer to one call."""
        return cls(number, batch, attempt, answer.fault, x, *answer[:5])

    @property
    def good(self) -> bool:
        """Whether the call gave a usable answer."""
        return self.fault is Fault.NONE

    def feasible(self, ineq_tol: Any, eq_tol: Any) -> bool:
        """Whether the answer keeps every constraint within the tolerances."""
        return self.good and bool((self.g <= ineq_tol).all() and (np.abs(self.h) <= eq_tol).all())


class Layout(NamedTuple):
    """How many constraints there are, and what the function calls them ("" where it does not)."""

    n_ineq: int
    n_eq: int
    g_names: tuple[str, ...] = ()
    h_names: tuple[str, ...] = ()

    @property
    def counts(self) -> tuple[int, int]:
        """Inequalities and equalities."""
        return self.n_ineq, self.n_eq


class Known(NamedTuple):
    """Points whose values were known beforehand, as columns."""

    x: np.ndarray  # [n, D]
    f: np.ndarray  # [n]
    g: np.ndarray  # [n, p]
    h: np.ndarray  # [n, q]

    def evaluation(self, ineq_tol: Any, eq_tol: Any) -> Evaluation:
        """The same values as the search sees them: [1, n], ..."""
        return Evaluation.of(self.f[None], self.g[None], self.h[None], ineq_tol, eq_tol)


@dataclass(frozen=True)
class Events:
    """Who hears what a run does; nobody unless given."""

    kept: Callable[[Entry], None] = lambda entry: None  # every new answer, as it came
    failed: Callable[[Entry, str], None] = lambda entry, reason: None  # those that cannot be used, and why
    clocked: Callable[[int, float], None] = lambda number, seconds: None  # how long a call took
    tick: Callable[[], None] = lambda: None  # answers came in
    warn: Callable[[str], None] = lambda text: None  # what the user should be told at once


SILENT = Events()


class LayoutChanged(Exception):
    """Fewer answers had to decide what the constraints are than say otherwise now."""


class EvaluationLog:
    """Calls by number. Numbers are given out when calls are planned, so they do not depend on who finishes first.

    The majority of the first nine well-formed answers, by number, decides what the constraints are;
    fewer decide where the search must be told earlier. Until then answers wait; what contradicts
    the majority is a failed evaluation, until more different answers contradict than agree: then they decide.
    The decision follows from the answers alone, so a resumed run comes to the same one. past holds
    what an interrupted run had been told.
    """

    def __init__(
        self,
        budget: int = JURY,
        total: int | None = None,
        past: dict[int, Entry] | None = None,
        near: np.ndarray | None = None,
        events: Events = SILENT,
    ) -> None:
        self.size = min(budget, JURY)
        self.total = total  # constraints in all, where they were named beforehand
        self.layout: Layout | None = None
        self.declared = False  # whether the counts were given, and not learnt
        self._events = events
        self.past: dict[int, Entry] = {} if past is None else past
        self.near = near  # [D] how far apart points may lie that count as the same
        self.entries: dict[int, Entry] = {}
        self.waiting: dict[int, tuple[Entry, str, bool]] = {}  # by number: entry, reason, whether it is new
        self.planned = 0
        self.faults: Counter[Fault] = Counter()
        self.first_reason: dict[Fault, str] = {}
        self._jury: list[Entry] = []
        self._heard = 0  # every number below this one was heard
        self._first: dict[int, Entry] = {}  # well-formed answers as they came, until the review
        self._odd: dict[int, Entry] = {}  # well-formed answers that contradict what is agreed, as they came
        self._voices: dict[tuple[int, int], set[Any]] = {}  # where there are such: different answers by their counts
        self.reviewed = False
        self._table: EvaluationTable | None = None

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def counts(self) -> tuple[int, int]:
        """Inequalities and equalities; none while nothing is known of them."""
        return (0, 0) if self.layout is None else self.layout.counts

    @property
    def caught_up(self) -> bool:
        """Whether everything of an interrupted run has been given back."""
        return not self.past

    def declare(self, n_ineq: int, n_eq: int) -> None:
        """Give the number of constraints beforehand; their names are still to come."""
        self.layout, self.declared = Layout(n_ineq, n_eq), True

    def fork(self, told: Iterable[Entry]) -> EvaluationLog:
        """Another log of the same run, which has been told these answers of the past and not the others yet."""
        told = list(told)
        rest = {number: entry for number, entry in self.past.items() if number not in {e.number for e in told}}
        log = EvaluationLog(self.size, self.total, rest, self.near)
        if self.declared:
            log.declare(*self.counts)
        for _, batch in groupby(told, key=lambda entry: entry.batch):
            tell_batch(log, batch)
        log._events = self._events  # silent until here: all of this was heard before
        return log

    def plan(self, count: int) -> range:
        """Numbers for the next calls."""
        self.planned += count
        return range(self.planned - count, self.planned)

    def replay(self, number: int, x: np.ndarray) -> bool:
        """Whether the interrupted run was told an answer under this number, which then counts again."""
        entry = self.past.pop(number, None)
        if entry is None:
            return False
        same = entry.x.tobytes() == x.tobytes() or (self.near is not None and (abs(entry.x - x) <= self.near).all())
        if not same:
            raise InvalidInput(
                f"the run's log does not fit: evaluation {number} was made at another point than this search asks for "
                "(other inputs, or another version of a library or number of its threads); start a new run with "
                "evaluated=<the run's folder>"
            )
        self.take(entry, new=False)
        return True

    def take(self, entry: Entry, reason: str = "", new: bool = True) -> None:
        """Enter an answer, or let it wait until it is known what the constraints are."""
        if new:
            self._events.kept(entry)
        if entry.good and not self.reviewed:
            self._first[entry.number] = entry
        if entry.good and self._voices:
            self._hear(entry)
        if self.layout is None:
            self.waiting[entry.number] = entry, reason, new
        else:
            self._enter(*self._matched(entry, reason), new)
        while len(self._jury) < self.size and (self._heard in self.waiting or self._heard in self.entries):
            if self._heard in self._first:
                self._jury.append(self._first[self._heard])
            self._heard += 1
            if len(self._jury) == self.size:
                self.settle()

    def settle(self) -> None:
        """Enter everything that waits: the jury is complete, the search must be told, or the run is over."""
        if self.layout is None:
            late = [self._first[n] for n in sorted(self.waiting) if n >= self._heard and n in self._first]
            self.layout = self._majority([*self._jury, *late][: self.size])
        for _, (entry, reason, new) in sorted(self.waiting.items()):
            self._enter(*self._matched(entry, reason), new)
        self.waiting.clear()

    def _majority(self, votes: list[Entry]) -> Layout | None:
        """What most answers say; of equally many, those with more constraints, then the earlier."""
        votes = [e for e in votes if e.g.size + e.h.size == self.total] or votes
        if not votes:
            return None
        sizes = Counter((e.g.size, e.h.size) for e in votes)
        counts = max(sizes, key=lambda size: (sizes[size], sum(size)))
        names = Counter((e.g_names, e.h_names) for e in votes if (e.g.size, e.h.size) == counts)
        return Layout(*counts, *max(names, key=lambda pair: names[pair]))

    def review(self) -> None:
        """What was decided or given before must not stand against all of the jury, nor the jury against most answers.

        Called between two batches of calls, so that it does not depend on who finished first.
        """
        if len(self._jury) < self.size:
            return
        found = self._overruled() if self.reviewed else self._majority(self._jury)
        if found is None:
            return
        those = "answers" if self.reviewed else f"of the first {self.size} answers"
        said = f"{found.n_ineq} inequalities and {found.n_eq} equalities in most {those} of fun"
        if self.total not in (None, sum(found.counts)):
            raise InvalidInput(f"constraint_names has {self.total} names, but there are {said}")
        if self.counts != found.counts and self.declared:
            raise InvalidInput(f"evaluated has {self.counts[0]} and {self.counts[1]} constraints, but there are {said}")
        self._first, self.reviewed = {}, True
        if self.counts != found.counts:
            self._agree_on(found)
            raise LayoutChanged

    def reconsider(self) -> None:
        """Agree on what most answers say, however few decided before: where some of the first nine are lost."""
        found = self._overruled()
        if found is not None:
            self._agree_on(found)

    def _overruled(self) -> Layout | None:
        """What more answers say than agree; None as a rule. A penalty that is always the same speaks once."""
        if not self._odd:
            return None
        if not self._voices:
            for entry in (*filter(lambda e: e.good, self.entries.values()), *self._odd.values()):
                self._hear(entry)
        told = {size: len(said) for size, said in self._voices.items() if self.total in (None, sum(size))}
        most = max(told, key=lambda size: (told[size], sum(size)), default=self.counts)
        if told.get(most, 0) <= told.get(self.counts, 0):
            return None
        return self._majority([e for e in self._odd.values() if (e.g.size, e.h.size) == most])

    def _hear(self, entry: Entry) -> None:
        said = (entry.f, entry.g.tobytes(), entry.h.tobytes())
        self._voices.setdefault((entry.g.size, entry.h.size), set()).add(said)

    def _agree_on(self, layout: Layout) -> None:
        """Enter every well-formed answer once more, as this layout sees it."""
        answers = {n: entry for n, entry in self.entries.items() if entry.good} | self._odd
        self.layout, self._table, self._odd = layout, None, {}
        self.faults[Fault.MISMATCH] = 0
        for _, entry in sorted(answers.items()):
            self._enter(*self._matched(entry, ""), new=True)

    def _enter(self, entry: Entry, reason: str, new: bool) -> None:
        self.entries[entry.number] = entry
        if not entry.good:
            self.faults[entry.fault] += 1
            if new:
                self.first_reason.setdefault(entry.fault, reason)
                self._events.failed(entry, reason)

    def _matched(self, entry: Entry, reason: str) -> tuple[Entry, str]:
        """The entry with constraints in the agreed order, or marked as one that contradicts."""
        sized = self.layout is not None and self.layout.counts == (entry.g.size, entry.h.size)
        if not entry.good:
            return (entry if sized else _blank(entry, entry.fault)), reason
        assert self.layout is not None
        if not sized:
            p, q = self.layout.counts
            self._odd[entry.number] = entry
            said = f"it gave {entry.g.size} inequalities and {entry.h.size} equalities instead of {p} and {q}"
            return _blank(entry, Fault.MISMATCH), said
        if self.declared and not (self.layout.g_names or self.layout.h_names):
            self.layout = Layout(*self.layout.counts, entry.g_names, entry.h_names)
        names = self.layout.g_names, self.layout.h_names
        if (entry.g_names, entry.h_names) == names:
            return entry, reason
        try:
            g = _reordered(entry.g, entry.g_names, names[0])
            h = _reordered(entry.h, entry.h_names, names[1])
        except KeyError as missing:
            self._odd[entry.number] = entry
            return _blank(entry, Fault.MISMATCH), f"it gave no constraint named {missing}"
        return entry._replace(g=g, h=h, g_names=names[0], h_names=names[1]), reason

    def values(self, numbers: Iterable[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f [n], g [n, p], h [n, q] as the search sees them: nan where a call failed."""
        entries = [self.entries[n] for n in numbers]
        f = np.array([e.f if e.good else np.nan for e in entries], dtype=np.float64)
        g, h = (
            stacked([values if e.good else NOTHING for e, values in zip(entries, column)], width)
            for column, width in zip(([e.g for e in entries], [e.h for e in entries]), self.counts)
        )
        return f, g, h

    def usable(self) -> Known:
        """Every answer that another search can be told."""
        good = [n for n, entry in self.entries.items() if entry.good]
        return Known(np.array([self.entries[n].x for n in good]), *self.values(good))

    def names(self, given: Iterable[str] = ()) -> tuple[str, ...]:
        """A name for each constraint, inequalities first."""
        (p, q), given = self.counts, tuple(given)
        if len(given) == p + q and given:
            return given
        g_names, h_names = ((), ()) if self.layout is None else self.layout[2:]
        return (
            *(name or f"g{i}" for i, name in enumerate(g_names or ("",) * p, 1)),
            *(name or f"h{i}" for i, name in enumerate(h_names or ("",) * q, 1)),
        )

    def columns(self, dim: int, known: Known | None, ineq_tol: Any, eq_tol: Any, as_told: bool = False) -> Evaluations:
        """Everything as columns: first what was known beforehand, then the calls, by number or as they were told."""
        table, form = self._table, (self.counts, as_told)
        if table is None or (table.counts, table.as_told) != form or not _same(table.tolerances, (ineq_tol, eq_tol)):
            table = self._table = EvaluationTable(dim, self.counts, known, ineq_tol, eq_tol, as_told)
        return table.update(self.entries)


def tell_batch(log: EvaluationLog, entries: Iterable[Entry]) -> None:
    """Enter the answers of one batch of calls in the steps in which its run was told them, and review as it did."""
    for _, wave in groupby(entries, key=lambda entry: entry.attempt):
        for entry in wave:
            log.take(entry, new=False)
            log.planned = entry.number + 1
        log.settle()
    log.review()


def _same(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    return all(a is b or np.array_equal(a, b) for a, b in zip(one, other))


def _blank(entry: Entry, fault: Fault) -> Entry:
    """The same call without its numbers."""
    return Entry(*entry[:3], fault, entry.x, np.nan)


def _reordered(values: np.ndarray, names: tuple[str, ...], wanted: tuple[str, ...]) -> np.ndarray:
    """Values in the agreed order of names; unnamed ones keep their places."""
    if names == wanted or not any(names) or not any(wanted):
        return values
    place = {name: i for i, name in enumerate(names) if name}
    return np.array([values[place[name]] if name else values[i] for i, name in enumerate(wanted)])
