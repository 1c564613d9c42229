"""How many constraints a function has, by the vote of its answers: it may fail at first, or answer otherwise later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from meco.run.log.evaluation_log import Entry

CONSTRAINT_VOTES = 9  # well-formed answers whose majority decides what the constraints are


class ConstraintLayout(NamedTuple):
    """How many constraints there are, and what the function calls them ("" where it does not)."""

    n_ineq: int
    n_eq: int
    g_names: tuple[str, ...] = ()
    h_names: tuple[str, ...] = ()

    @property
    def counts(self) -> tuple[int, int]:
        """Inequalities and equalities."""
        return self.n_ineq, self.n_eq


class ConstraintVote:
    """The majority of the first well-formed answers, by number; fewer vote where the search must be told earlier.

    The vote follows from the answers alone, so a resumed run comes to the same constraints. Later answers overrule it
    once more different ones contradict than agree. Answers without any constraint are penalties, and have no vote, once
    an answer has constraints.
    """

    def __init__(self, budget: int, named_count: int | None) -> None:
        """No votes yet; named_count is the number of constraints that the user named, None where he did not."""
        self.size = min(budget, CONSTRAINT_VOTES)  # votes that make it complete
        self.named_count = named_count  # constraints in all, where they were named beforehand
        self.confirmed = False  # whether what was agreed on was compared with all votes
        self._early_answers: dict[int, Entry] = {}  # well-formed answers as they came, until that
        self._votes: list[Entry] = []
        self._next_number = 0  # every number below this one was counted
        self._mismatched: dict[int, Entry] = {}  # well-formed answers that contradict what was agreed on, as they came
        self._distinct_answers: dict[
            tuple[int, int], set[Any]
        ] = {}  # once there are such: different answers by their counts

    def note_answer(self, entry: Entry) -> None:
        """Remember a well-formed answer, as it came, until the vote is confirmed."""
        if not self.confirmed:
            self._early_answers[entry.number] = entry
        if self._distinct_answers:
            self._count_distinct(entry)

    def count_votes(self, is_known: Callable[[int], bool]) -> bool:
        """Count votes in order of number while their calls are known: whether that made the vote complete."""
        before = self.complete
        while not self.complete and is_known(self._next_number):
            if self._next_number in self._early_answers:
                self._votes.append(self._early_answers[self._next_number])
            self._next_number += 1
        return self.complete and not before

    @property
    def complete(self) -> bool:
        """Whether all votes are in."""
        return len(self._votes) >= self.size

    def early_majority(self, waiting: Iterable[int]) -> ConstraintLayout | None:
        """What the votes so far say, with answers that wait beyond a gap, by number; None without any."""
        late = [self._early_answers[n] for n in sorted(waiting) if n >= self._next_number and n in self._early_answers]
        return self._find_majority([*self._votes, *late][: self.size])

    def current_majority(self, counts: tuple[int, int], entries: Iterable[Entry]) -> ConstraintLayout | None:
        """What the constraints should be by now, given those agreed on; None where there is nothing new to say."""
        return self.overruling_majority(counts, entries) if self.confirmed else self._find_majority(self._votes)

    def mark_confirmed(self) -> None:
        """Let what was agreed on stand until it is overruled; early answers are forgotten."""
        self._early_answers, self.confirmed = {}, True

    def _find_majority(self, votes: list[Entry]) -> ConstraintLayout | None:
        """What most answers say; of equally many, those with more constraints, then the earlier. None without any.

        Answers that name all of their constraints may leave some out: then all names count.
        """
        if (union := _join_names(votes)) is not None:
            return union
        votes = [e for e in votes if e.g.size + e.h.size == self.named_count] or votes
        votes = [e for e in votes if e.g.size + e.h.size] or votes  # a number alone is a penalty
        if not votes:
            return None
        sizes = Counter((e.g.size, e.h.size) for e in votes)
        counts = max(sizes, key=lambda size: (sizes[size], sum(size)))
        names = Counter((e.g_names, e.h_names) for e in votes if (e.g.size, e.h.size) == counts)
        return ConstraintLayout(*counts, *max(names, key=lambda pair: names[pair]))

    def note_mismatch(self, entry: Entry) -> None:
        """Remember a well-formed answer that contradicts what was agreed on."""
        self._mismatched[entry.number] = entry

    def pop_mismatched(self) -> dict[int, Entry]:
        """The answers that contradict, by number, which are forgotten here: what was agreed on is about to change."""
        mismatched, self._mismatched = self._mismatched, {}
        return mismatched

    def names_grow(self, counts: tuple[int, int], entries: Iterable[Entry]) -> bool:
        """Whether answers that contradict name more constraints than those agreed on, of which these are a part."""
        every = [*(entry for entry in entries if entry.good), *self._mismatched.values()]
        union = _join_names(every) if self._mismatched else None
        return union is not None and union.counts != counts

    def overruling_majority(self, counts: tuple[int, int], entries: Iterable[Entry]) -> ConstraintLayout | None:
        """What more answers say than agree; None as a rule. A penalty that is always the same counts once."""
        if not self._mismatched:
            return None
        every = [*(entry for entry in entries if entry.good), *self._mismatched.values()]
        if (union := _join_names(every)) is not None:
            return None if union.counts == counts else union
        if not self._distinct_answers:
            for entry in (*filter(lambda e: e.good, entries), *self._mismatched.values()):
                self._count_distinct(entry)
        votes = {
            size: len(said) for size, said in self._distinct_answers.items() if self.named_count in (None, sum(size))
        }
        if len(votes) > 1:  # a number alone is a penalty
            votes.pop((0, 0), None)
        most = max(votes, key=lambda size: (votes[size], sum(size)), default=counts)
        if votes.get(most, 0) <= votes.get(counts, 0):
            return None
        return self._find_majority([e for e in self._mismatched.values() if (e.g.size, e.h.size) == most])

    def _count_distinct(self, entry: Entry) -> None:
        """Count an answer under its numbers of constraints, equal answers once."""
        said = (entry.f, entry.g.tobytes(), entry.h.tobytes())
        self._distinct_answers.setdefault((entry.g.size, entry.h.size), set()).add(said)


def _join_names(votes: list[Entry]) -> ConstraintLayout | None:
    """All names of answers that leave some out, those of the widest first; None where that is not what they do.

    Every answer must name all of its constraints, and those that leave some out must violate one that they tell.
    """
    if not votes or not all(e.g.size + e.h.size and all(e.g_names) and all(e.h_names) for e in votes):
        return None
    widest = sorted(votes, key=lambda e: (-(e.g.size + e.h.size), e.number))
    narrow = [e for e in votes if e.g.size + e.h.size < widest[0].g.size + widest[0].h.size]
    if not narrow or not all(e.violates_a_constraint for e in narrow):
        return None
    g_names = tuple(dict.fromkeys(name for e in widest for name in e.g_names))
    h_names = tuple(dict.fromkeys(name for e in widest for name in e.h_names))
    return ConstraintLayout(len(g_names), len(h_names), g_names, h_names)
