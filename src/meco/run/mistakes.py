"""Mistakes in the user's function, told from designs that fail: they end a run instead of its budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NoReturn

from meco.run.answer import (
    FAULT_MESSAGES,
    GAVE_A_DICT,
    GAVE_TOO_MANY,
    MISSING_VALUE,
    NO_KEY,
    Answer,
    EvaluationFailed,
    Fault,
)

SAME_ERROR_CALLS = 10  # first calls that, failing in one and the same way, end a run whose on_error was left open
SAME_ERROR_POINTS = 20  # points that are enough in two calls or more of a vectorized function
SAME_LINE_CALLS = 3  # calls that raise a likely mistake at one line, before any has succeeded, that end a run
LEAST_FAILURES = 20  # calls that fail before any has succeeded that end a run, or 3 D + 1
CERTAIN_FORMS = (GAVE_A_DICT, GAVE_TOO_MANY)  # of a constraint, which one call is enough to see
CERTAIN_ERRORS = ("NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError")
LIKELY_ERRORS = ("KeyError", "IndexError", "TypeError", "AttributeError")
START_HINT = "if these designs fail and others do not, begin at one that works: x0="
MISTAKE_HINT = "correct it"
WORKER_HINT = "see that fun runs in a worker process: workers=1 calls it in this one"
COMMAND_OPTIONS = {"x0=": "--x0", 'on_error="penalize"': "--on-error penalize"}  # as the command line calls them
RETURN_HINT = "write `return f`, `return f, [g1, g2]` or `return f, [g1], [h1]`"
DICT_HINT = 'a dict has the keys "f", "g", "h" and "se" alone, and "info" for what is not to be read'
CONSTRAINT_HINT = "a constraint returns numbers, which are to be <= 0 or within its limits: write `return g`"
ROWS_HINT = "x has a row for each point: write `return f, g` with f of shape (S,) and g of shape (S, p)"


class FirstCalls:
    """The answers of a run until the first success. It follows from the log, so a resumed run goes on counting."""

    def __init__(self, dim: int, *, vectorized: bool, names: Sequence[str] = ()) -> None:
        """No answer yet; names are those of the variables."""
        self.vectorized, self.names = vectorized, names
        self.most_failures = max(LEAST_FAILURES, 3 * dim + 1)
        self.succeeded = False
        self.failures = 0  # answers before the first success
        self.same = 0  # of these, those before one that differs from the first
        self.first: Answer | None = None
        self.raised_at: Counter[str] = Counter()  # likely mistakes by line
        self.calls = 0  # of a vectorized function, in this process

    def see(self, answer: Answer) -> None:
        """Count an answer."""
        self.succeeded = self.succeeded or answer.good
        if self.succeeded:
            return
        self.first = answer if self.first is None else self.first
        if self.same == self.failures and _alike(answer, self.first):
            self.same += 1
        self.failures += 1
        if _raises(answer, LIKELY_ERRORS) and answer.where:
            self.raised_at[answer.where] += 1

    def check(self, answers: Sequence[Answer]) -> None:
        """EvaluationFailed where the answers of a call, not counted yet, show a mistake in the function.

        An undefined name is one at any time. A missing key may also be what a crashed simulation leaves, so it counts
        only before the first success, and at the third time.
        """
        for answer in answers:
            if _raises(answer, CERTAIN_ERRORS):
                _end_run(f"fun raised {_describe_reason(answer)}", answer, MISTAKE_HINT)
        answer = answers[0]
        if self.succeeded or any(each.good for each in answers):
            return
        self.calls += 1
        if answer.fault is Fault.MALFORMED and any(said in answer.reason for said in CERTAIN_FORMS):
            raise EvaluationFailed(f"{answer.reason}{_describe_where(answer)}")
        if _raises(answer, LIKELY_ERRORS) and self.raised_at[answer.where] == SAME_LINE_CALLS - 1 and answer.where:
            said = f"no call has succeeded, and {SAME_LINE_CALLS} raised {_describe_reason(answer)}"
            _end_run(said, answer, self._hint_at_names(answer) or START_HINT)
        self._check_alike(answers)
        failed = self.failures + len(answers)
        if failed >= self.most_failures and (self.calls > 1 or not self.vectorized):
            said = f"none of the first {failed} evaluations succeeded; the last {FAULT_MESSAGES[answer.fault]}"
            _end_run(said + (f": {_describe_reason(answer)}" if answer.reason else ""), answer, START_HINT)

    def _check_alike(self, answers: Sequence[Answer]) -> None:
        """EvaluationFailed where the first answers all failed in one way."""
        answer, count = answers[0], self.failures + len(answers)
        first = answer if self.first is None else self.first
        enough = count >= SAME_ERROR_CALLS
        if self.vectorized:
            enough = self.calls > 1 and count >= SAME_ERROR_POINTS
        if not enough or self.same < self.failures or not all(_alike(each, first) for each in answers):
            return
        if answer.fault is Fault.MALFORMED:
            of_constraint = first.reason.startswith("constraint ")
            hint = CONSTRAINT_HINT if of_constraint else ROWS_HINT if self.vectorized else RETURN_HINT
            hint = DICT_HINT if NO_KEY in first.reason else hint
            whose = "a constraint" if of_constraint else "fun"
            _end_run(f"the first {count} answers of {whose} cannot be read: {first.reason}", first, hint)
        if first.reason.endswith(MISSING_VALUE):
            _end_run(f"in the first {count} answers of fun {first.reason}", first, RETURN_HINT)
        if answer.fault is Fault.RAISED:
            _end_run(f"the first {count} calls of fun all raised {_describe_reason(answer)}", answer, START_HINT)
        if answer.fault is Fault.WORKER_LOST:
            _end_run(f"the first {count} calls of fun all failed: {_describe_reason(first)}", first, WORKER_HINT)

    def _hint_at_names(self, answer: Answer) -> str:
        """What x is where variables have names and an error looks as if that was forgotten; "" elsewhere."""
        if not self.names or not (answer.reason.startswith("KeyError") or "dict" in answer.reason):
            return ""
        keys = ", ".join(f'"{name}"' for name in self.names[:5]) + ", ..." * (len(self.names) > 5)
        use = "" if answer.reason.startswith("KeyError: '") else f': use x["{self.names[0]}"], not x[0]'
        return f"your bounds are named, so fun receives a dict with the keys {keys}{use}"


def _alike(answer: Answer, first: Answer) -> bool:
    """Whether two calls failed in one way: neither can be read, or both raised one error at one line."""
    if answer.fault is not first.fault:
        return False
    return answer.fault is Fault.MALFORMED or (answer.reason, answer.where) == (first.reason, first.where)


def _raises(answer: Answer, errors: Sequence[str]) -> bool:
    """Whether a call raised one of these errors."""
    return answer.fault is Fault.RAISED and answer.reason.partition(":")[0] in errors


def _describe_reason(answer: Answer) -> str:
    """The reason of an answer, as any terminal can show it."""
    return answer.reason.encode("utf-8", "backslashreplace").decode()


def _describe_where(answer: Answer) -> str:
    """The place that an answer names, for the end of a sentence; "" without one."""
    return f", {answer.where}" if answer.where else ""


def _end_run(said: str, answer: Answer, hint: str) -> NoReturn:
    """Raise EvaluationFailed, from what fun raised if it did: what is said, where, a hint, and the way to go on.

    On the command line the hint and the way are spelled as its options.
    """
    place = _describe_where(answer)
    advice = option = f'; {hint}; on_error="penalize" goes on regardless'
    for keyword, spelling in COMMAND_OPTIONS.items():
        option = option.replace(keyword, spelling)
    error = EvaluationFailed(said + place + advice).on_command_line(said + place + option)
    raise error from (None if answer.cause is None else answer.cause.error)
