"""Every call of a run, in memory: the one record that results, replays and the log on disk are made from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from meco.core.evaluation import Evaluation
from meco.core.partial_answers import evaluate_partial, has_gaps
from meco.errors import CannotWrite, InvalidInput
from meco.evaluations import Evaluations
from meco.run.calling.answers import CLEARLY_OFF, NO_VALUES, Answer, Fault
from meco.run.log.constraint_vote import CONSTRAINT_VOTES, ConstraintLayout, ConstraintVote
from meco.run.log.equality_defaults import EqualityDefaults
from meco.run.log.evaluation_columns import stack_rows
from meco.run.log.evaluations_builder import EvaluationsBuilder, Listing
from meco.run.log.recorded_answers import RecordedAnswers


class Entry(NamedTuple):
    """One call: its number, the batch and attempt it belongs to, the point, and the answer with its own constraints."""

    number: int
    batch: int
    attempt: int
    fault: Fault
    x: np.ndarray  # [D]
    f: float
    g: np.ndarray = NO_VALUES  # [p]; [0] where there are no numbers
    h: np.ndarray = NO_VALUES
    g_names: tuple[str, ...] = ()
    h_names: tuple[str, ...] = ()
    errors: np.ndarray = NO_VALUES  # standard errors of f, g and h [1 + p + q]; [0] where none were told

    @classmethod
    def of(cls, number: int, batch: int, attempt: int, x: np.ndarray, answer: Answer) -> Entry:
        """The entry of an answer to one call at x [D]."""
        values = answer.f, answer.g, answer.h
        return cls(number, batch, attempt, answer.fault, x, *values, answer.g_names, answer.h_names, answer.errors)

    @property
    def good(self) -> bool:
        """Whether the call gave a usable answer."""
        return self.fault is Fault.NONE

    @property
    def tells_something(self) -> bool:
        """Whether some of its numbers can be learnt from: not all need be known."""
        if self.fault is not Fault.NOT_FINITE:
            return self.good
        return not (math.isinf(self.f) or np.isinf(self.g).any() or np.isinf(self.h).any())

    @property
    def violates_a_constraint(self) -> bool:
        """Whether it violates a constraint: what a partial answer leaves out was not computed for that."""
        return bool((self.g > 0.0).any() or (np.abs(self.h) > CLEARLY_OFF).any())

    def is_feasible(self, ineq_tol: Any, eq_tol: Any) -> bool:
        """Whether the answer keeps every constraint within the tolerances."""
        return self.good and bool((self.g <= ineq_tol).all() and (np.abs(self.h) <= eq_tol).all())


class PriorEvaluations(NamedTuple):
    """Points whose values were known beforehand, as columns; an Optimizer's state holds these names."""

    x: np.ndarray  # [n, D]
    f: np.ndarray  # [n]
    g: np.ndarray  # [n, p]
    h: np.ndarray  # [n, q]

    def to_evaluation(self, ineq_tol: Any, eq_tol: Any) -> Evaluation:
        """The same values as the search sees them: an evaluation [1, n]; nan is partial or failed."""
        values = self.f[None], self.g[None], self.h[None]
        if has_gaps(*values):
            worst = float(np.max(np.where(np.isfinite(self.f), self.f, -np.inf), initial=-np.inf))
            return evaluate_partial(*values, ineq_tol, eq_tol, worst if math.isfinite(worst) else 0.0)
        return Evaluation.of(*values, ineq_tol, eq_tol)


@dataclass(frozen=True)
class Events:
    """Functions that are called when something happens in a run; they do nothing unless given."""

    on_answer: Callable[[Entry], None] = lambda entry: None  # every new answer, as it came
    on_failure: Callable[[Entry, str], None] = lambda entry, reason: None  # those that cannot be used, and why
    on_duration: Callable[[int, float], None] = lambda number, seconds: None  # how long a call took
    warn: Callable[[str], None] = lambda text: None  # what the user should be told at once


NO_EVENTS = Events()


class ConstraintsChanged(Exception):
    """Fewer answers had to decide what the constraints are than say otherwise now."""


class EvaluationLog:
    """Calls by number. Numbers are given out when calls are planned, so they do not depend on who finishes first.

    Answers wait until it is known what the constraints are (constraint_vote.py); one that contradicts that is a failed
    evaluation. unreplayed holds what an interrupted run had been told and this one has not asked for yet.
    """

    def __init__(
        self,
        budget: int = CONSTRAINT_VOTES,
        named_count: int | None = None,
        unreplayed: RecordedAnswers | None = None,
        events: Events = NO_EVENTS,
        equalities: EqualityDefaults | None = None,
    ) -> None:
        """An empty log; unreplayed answers enter as they are asked for, listeners of events are told of new ones."""
        self.equalities = equalities or EqualityDefaults()
        self._vote = ConstraintVote(budget, named_count)
        self.constraints: ConstraintLayout | None = None
        self._declared = False  # whether the counts were given, and not learnt
        self._events = events
        self.unreplayed = RecordedAnswers() if unreplayed is None else unreplayed
        self.entries: dict[int, Entry] = {}
        self.waiting: dict[int, tuple[Entry, str, bool]] = {}  # by number: entry, reason, whether it is new
        self.planned = 0
        self.faults: Counter[Fault] = Counter()
        self.first_reason: dict[Fault, str] = {}
        self._builders: dict[bool, EvaluationsBuilder] = {}  # by number, and by arrival
        self._told_errors: dict[int, np.ndarray] = {}  # standard errors by number, of answers that told them
        self._pooled: np.ndarray | None = None  # over all of these; None: to be computed

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def counts(self) -> tuple[int, int]:
        """Inequalities and equalities; none while nothing is known of them."""
        return (0, 0) if self.constraints is None else self.constraints.counts

    @property
    def constraints_checked(self) -> bool:
        """Whether the constraints were compared with all of the first answers."""
        return self._vote.confirmed

    def declare_constraints(
        self, n_ineq: int, n_eq: int, g_names: tuple[str, ...] = (), h_names: tuple[str, ...] = ()
    ) -> None:
        """Give the number of constraints beforehand; their names are still to come where they are not given."""
        self.constraints, self._declared = ConstraintLayout(n_ineq, n_eq, g_names, h_names), True

    def fork(self, told: Iterable[Entry]) -> EvaluationLog:
        """Another log of the same run that holds these recorded answers; the others are still to be replayed."""
        told = list(told)
        equalities = EqualityDefaults(self.equalities.known, by_arrival=self.equalities.by_arrival)
        log = EvaluationLog(
            self._vote.size, self._vote.named_count, self.unreplayed.without(told), equalities=equalities
        )
        if self._declared:
            log.declare_constraints(*self.counts)
        for _, batch in groupby(told, key=lambda entry: entry.batch):
            replay_batch(log, batch)
        log._events = self._events  # silent until here: all of this was heard before
        return log

    def reserve_numbers(self, count: int) -> range:
        """Numbers for so many further calls, which count as planned from now on."""
        self.planned += count
        return range(self.planned - count, self.planned)

    def mark_planned_below(self, number: int) -> None:
        """Count every number below this one as planned: a resumed run has calls that another session planned."""
        self.planned = number

    def replay_answer(self, number: int, x: np.ndarray) -> bool:
        """Enter the recorded answer of this number, if there is one: whether there was.

        Raises InvalidInput where it was recorded at another point than x [D].
        """
        entry = self.unreplayed.pop(number, x)
        if entry is None:
            return False
        self.add_recorded(entry)
        return True

    def add_answer(self, entry: Entry, reason: str = "") -> None:
        """Enter a new answer, of which the listeners of Events are told first; reason says why it failed.

        An answer that cannot be written is entered all the same, as it belongs to the result.
        """
        try:
            self._events.on_answer(entry)
        except CannotWrite:
            self._enter_or_wait(entry, reason, new=True)
            raise
        self._enter_or_wait(entry, reason, new=True)

    def add_recorded(self, entry: Entry) -> None:
        """Enter an answer that an earlier session recorded; nobody is told of it again."""
        self._enter_or_wait(entry, "", new=False)

    def _enter_or_wait(self, entry: Entry, reason: str, *, new: bool) -> None:
        """Keep an answer, or let it wait until it is known what the constraints are; it may vote."""
        if entry.good:
            self._vote.note_answer(entry)
            self.equalities.note_arrival(entry.number)
        if self.constraints is None:
            self.waiting[entry.number] = entry, reason, new
        else:
            self._keep_entry(*self._align_constraints(entry, reason), new=new)
        if self._vote.count_votes(lambda number: number in self.waiting or number in self.entries):
            self.fix_constraints()
        if self.equalities.by_arrival:
            fix_equalities(self)

    def fix_constraints(self) -> None:
        """Enter everything that waits: the vote is complete, the search must be told, or the run is over."""
        if self.constraints is None:
            self.constraints = self._vote.early_majority(self.waiting)
        for _, (entry, reason, new) in sorted(self.waiting.items()):
            self._keep_entry(*self._align_constraints(entry, reason), new=new)
        self.waiting.clear()

    def check_constraints(self) -> None:
        """Compare the agreed constraints with the votes, once all are in, and later with what most answers say.

        Raises InvalidInput where they contradict what was declared, ConstraintsChanged after agreeing on others. Called
        between two batches of calls, so that it does not depend on who finished first.
        """
        vote = self._vote
        found = vote.current_majority(self.counts, self.entries.values()) if vote.complete else None
        if found is None:
            return
        those = "answers" if vote.confirmed else f"of the first {vote.size} answers"
        said = f"{found.n_ineq} inequalities and {found.n_eq} equalities in most {those} of fun"
        if vote.named_count not in (None, sum(found.counts)):
            raise InvalidInput(f"tolerances: names has {vote.named_count} names, but there are {said}")
        if self.counts != found.counts and self._declared:
            raise InvalidInput(f"evaluated has {self.counts[0]} and {self.counts[1]} constraints, but there are {said}")
        vote.mark_confirmed()
        if self.counts != found.counts:
            self._change_constraints(found)
            raise ConstraintsChanged

    def relearn_constraints(self) -> None:
        """Agree on what most answers say, however few decided before: where some of the first nine are lost."""
        found = self._vote.overruling_majority(self.counts, self.entries.values())
        if found is not None:
            self._change_constraints(found)

    def _change_constraints(self, agreed: ConstraintLayout) -> None:
        """Agree on these constraints: every well-formed answer is entered once more."""
        answers = {n: entry for n, entry in self.entries.items() if entry.good}
        answers |= self._vote.pop_mismatched()
        self.constraints, self._builders = agreed, {}
        self._told_errors, self._pooled = {}, None
        self.faults.pop(Fault.MISMATCH, None)
        self.first_reason.pop(Fault.MISMATCH, None)
        for _, entry in sorted(answers.items()):
            self._keep_entry(*self._align_constraints(entry, ""), new=True)
        self.equalities.begin_again(self.entries, self.counts[1])

    def _keep_entry(self, entry: Entry, reason: str, *, new: bool) -> None:
        """Keep an entry and count its fault; listeners are told of a new failure."""
        self.entries[entry.number] = entry
        if entry.good and entry.errors.size == 1 + sum(self.counts):
            self._told_errors[entry.number], self._pooled = entry.errors, None
        if not entry.good:
            self.faults[entry.fault] += 1
            if new:
                if reason:
                    self.first_reason.setdefault(entry.fault, reason)
                self._events.on_failure(entry, reason)

    def _align_constraints(self, entry: Entry, reason: str) -> tuple[Entry, str]:
        """The entry with constraints in the agreed order, and its reason.

        One that contradicts is a failed one, and noted for the vote; names that were not declared are taken from
        it.
        """
        sized = self.constraints is not None and self.constraints.counts == (entry.g.size, entry.h.size)
        if not entry.good:
            return (entry if sized else _without_values(entry, entry.fault)), reason
        assert self.constraints is not None
        if not sized and (widened := fill_gaps(entry, self.constraints)) is not None:
            return widened, reason
        if not sized:
            p, q = self.constraints.counts
            self._vote.note_mismatch(entry)
            said = f"it gave {entry.g.size} inequalities and {entry.h.size} equalities instead of {p} and {q}"
            return _without_values(entry, Fault.MISMATCH), said
        if self._declared and not (self.constraints.g_names or self.constraints.h_names):
            self.constraints = ConstraintLayout(*self.constraints.counts, entry.g_names, entry.h_names)
        names = self.constraints.g_names, self.constraints.h_names
        if (entry.g_names, entry.h_names) == names:
            return entry, reason
        try:
            g = _reorder(entry.g, entry.g_names, names[0])
            h = _reorder(entry.h, entry.h_names, names[1])
            errors = _reorder_errors(entry, names)
        except KeyError as missing:
            self._vote.note_mismatch(entry)
            return _without_values(entry, Fault.MISMATCH), f"it gave no constraint named {missing}"
        return entry._replace(g=g, h=h, g_names=names[0], h_names=names[1], errors=errors), reason

    def values(self, numbers: Iterable[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f [n], g [n, p], h [n, q] as the search sees them: nan where a call failed, and for what it did not tell."""
        entries = [self.entries[n] for n in numbers]
        f = np.array([e.f if e.tells_something else np.nan for e in entries], dtype=np.float64)
        g, h = (
            stack_rows([values if e.tells_something else NO_VALUES for e, values in zip(entries, column)], width)
            for column, width in zip(([e.g for e in entries], [e.h for e in entries]), self.counts)
        )
        return f, g, h

    def pooled_errors(self) -> np.ndarray | None:
        """Standard error of f, g and h [1 + p + q], pooled over all answers that told theirs; None where none did.

        By number: the sum is the same to the last bit, whoever finished first.
        """
        if self._pooled is None and self._told_errors:
            told = np.array([self._told_errors[n] for n in sorted(self._told_errors)])
            self._pooled = np.sqrt(np.mean(told * told, axis=0))
        return self._pooled

    def good_points(self) -> PriorEvaluations:
        """Every usable answer as points that another search can be told."""
        good = [n for n, entry in self.entries.items() if entry.good]
        dim = next((entry.x.size for entry in self.entries.values()), 0)
        return PriorEvaluations(np.array([self.entries[n].x for n in good]).reshape(-1, dim), *self.values(good))

    def constraint_names(self, preferred: Iterable[str] = ()) -> tuple[str, ...]:
        """A name for each constraint, inequalities first: the preferred ones where these are as many as there are."""
        (p, q), preferred = self.counts, tuple(preferred)
        if len(preferred) == p + q and preferred:
            return preferred
        g_names, h_names = (
            ((), ()) if self.constraints is None else (self.constraints.g_names, self.constraints.h_names)
        )
        return (
            *(name or f"g{i}" for i, name in enumerate(g_names or ("",) * p, 1)),
            *(name or f"h{i}" for i, name in enumerate(h_names or ("",) * q, 1)),
        )

    def to_evaluations(self, listing: Listing) -> Evaluations:
        """Everything as columns: first what was known beforehand, then the calls, by number or as they were told.

        Columns are made when first read, and kept for the next time with the same tolerances.
        """
        return self._find_builder(listing).evaluations_of(self.entries)

    def _find_builder(self, listing: Listing) -> EvaluationsBuilder:
        """What makes the columns of to_evaluations(): that of the last time, if tolerances and order are the same."""
        builder = self._builders.get(listing.by_arrival)
        if builder is None or builder.counts != self.counts or not builder.listing.is_judged_like(listing):
            builder = self._builders[listing.by_arrival] = EvaluationsBuilder(listing, self.counts)
        return builder


def count_unlisted_numbers(log: EvaluationLog) -> int:
    """How many values of constraints have no columns yet, of the calls by number."""
    builder = log._builders.get(False)
    answers = len(log.entries) if builder is None else builder.count_columnless(log.entries)
    return answers * sum(log.counts)


def make_columns(log: EvaluationLog, listing: Listing) -> None:
    """Make the columns of what was entered so far, for to_evaluations() with the same listing."""
    log._find_builder(listing).make_columns(log.entries)


def fix_equalities(log: EvaluationLog, calls: int = 1) -> bool:
    """Fix the default tolerances of equalities once the first design is answered: whether that was done now.

    calls is the size of the batch that was answered last.
    """
    return log.equalities.fix(log.entries, log.counts[1], calls)


def default_equality_tolerances(log: EvaluationLog) -> np.ndarray:
    """Tolerances [q] of equalities without one of their own; estimates before they are fixed."""
    return log.equalities.estimate(log.entries.values(), log.counts[1])


def names_grow(log: EvaluationLog) -> bool:
    """Whether an answer has named constraints that those before left out, which is no mistake."""
    return log._vote.names_grow(log.counts, log.entries.values())


def replay_batch(log: EvaluationLog, entries: Iterable[Entry]) -> None:
    """Enter the recorded answers of one batch into the log in the steps of its run, and check the constraints."""
    calls = 0
    for _, wave in groupby(entries, key=lambda entry: entry.attempt):
        for entry in wave:
            log.add_recorded(entry)
            log.mark_planned_below(entry.number + 1)
            calls += entry.attempt == 0
        log.fix_constraints()
    fix_equalities(log, calls)
    log.check_constraints()


def fill_gaps(entry: Entry, agreed: ConstraintLayout) -> Entry | None:
    """A partial answer, some of whose names are missing, with nan for them; None where it is no such answer."""
    named = all(entry.g_names) and all(entry.h_names) and all(agreed.g_names) and all(agreed.h_names)
    told = set(entry.g_names) <= set(agreed.g_names) and set(entry.h_names) <= set(agreed.h_names)
    if not named or not told or not entry.violates_a_constraint:
        return None
    parts = []
    for values, names, wanted in (
        (entry.g, entry.g_names, agreed.g_names),
        (entry.h, entry.h_names, agreed.h_names),
    ):
        known = dict(zip(names, values.tolist()))
        parts.append(np.array([known.get(name, np.nan) for name in wanted]))
    return entry._replace(g=parts[0], h=parts[1], g_names=agreed.g_names, h_names=agreed.h_names, errors=NO_VALUES)


def _without_values(entry: Entry, fault: Fault) -> Entry:
    """The entry of the same call with this fault, and without its numbers."""
    return Entry(entry.number, entry.batch, entry.attempt, fault, entry.x, np.nan)


def _reorder_errors(entry: Entry, wanted: tuple[tuple[str, ...], tuple[str, ...]]) -> np.ndarray:
    """Standard errors [1 + p + q] of an entry with the constraints in the wanted order of names; none stay none."""
    if not entry.errors.size:
        return entry.errors
    f, g, h = np.split(entry.errors, (1, 1 + entry.g.size))
    return np.concatenate([f, _reorder(g, entry.g_names, wanted[0]), _reorder(h, entry.h_names, wanted[1])])


def _reorder(values: np.ndarray, names: tuple[str, ...], wanted: tuple[str, ...]) -> np.ndarray:
    """Values [n] in the agreed order of names; unnamed ones keep their places. KeyError where a name is missing."""
    if names == wanted or not any(names) or not any(wanted):
        return values
    index = {name: i for i, name in enumerate(names) if name}
    return np.array([values[index[name]] if name else values[i] for i, name in enumerate(wanted)])
