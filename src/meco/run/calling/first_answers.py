"""The first answers of a run, and the mistakes in its function that they show."""

from __future__ import annotations

from collections import Counter
from typing import NoReturn

from meco.run.calling.answers import (
    FAULT_MESSAGES,
    GAVE_A_DICT,
    GAVE_TOO_MANY,
    MISSING_VALUE,
    NO_KEY,
    Answer,
    EvaluationFailed,
    Fault,
    Mistake,
)
from meco.run.log.evaluation_log import EvaluationLog
from meco.variables import Variables

SAME_ERROR_CALLS = 10  # first calls that, failing in one and the same way, end a run whose on_error was left open
SAME_ERROR_POINTS = 20  # points that are enough in two calls or more of a vectorized function
CERTAIN_MISTAKES = (GAVE_A_DICT, GAVE_TOO_MANY)  # of a constraint, which one call is enough to see
SAME_LINE_CALLS = 3  # calls that raise a likely mistake at one line, before any has succeeded, that end a run
LEAST_FAILURES = 20  # calls that fail before any has succeeded that end a run, or 3 D + 1
START_HINT = "if these designs fail and others do not, begin at one that works: x0="
COMMAND_OPTIONS = {"x0=": "--x0", 'on_error="penalize"': "--on-error penalize"}  # as the command line calls them
RETURN_HINT = "write `return f`, `return f, [g1, g2]` or `return f, [g1], [h1]`"
DICT_HINT = 'a dict has the keys "f", "g", "h" and "se" alone, and "info" for what is not to be read'
CONSTRAINT_HINT = "a constraint returns numbers, which are to be <= 0 or within its limits: write `return g`"
ROWS_HINT = "x has a row for each point: write `return f, g` with f of shape (S,) and g of shape (S, p)"


class FirstAnswers:
    """Ends a run whose first calls fail for a mistake in its function, and not for their designs."""

    def __init__(self, log: EvaluationLog, variables: Variables | None, *, vectorized: bool) -> None:
        """For the answers of a log, of a function of these variables; None: their number and names are not known."""
        self._log, self._vectorized = log, vectorized
        self._names = () if variables is None else variables.names
        self._most_failures = LEAST_FAILURES if variables is None else max(LEAST_FAILURES, 3 * len(variables.each) + 1)
        self._raised_at: Counter[str] = Counter()  # likely mistakes by line
        self._succeeded = False  # whether any answer was usable, also of an earlier session
        self._failed_calls = 0  # of this session, before any call has succeeded
        self._answers: dict[int, list[Answer]] = {}  # of the first calls

    def check(self, call_index: int, answers: list[Answer]) -> None:
        """EvaluationFailed where the answers of this call, with those before, show a mistake."""
        self._check_mistakes(answers)
        if call_index < SAME_ERROR_CALLS:
            self._check_same_error(call_index, answers)
        self._check_failure_count(answers)

    def _check_same_error(self, call_index: int, answers: list[Answer]) -> None:
        """EvaluationFailed where SAME_ERROR_CALLS first calls all fail in one way."""
        if answers[0].fault is Fault.MALFORMED and any(said in answers[0].reason for said in CERTAIN_MISTAKES):
            raise EvaluationFailed(f"{answers[0].reason}{_describe_where(answers[0])}")
        self._answers[call_index] = answers
        calls, points = len(self._answers), sum(map(len, self._answers.values()))
        enough = calls == SAME_ERROR_CALLS or (self._vectorized and calls > 1 and points >= SAME_ERROR_POINTS)
        every = [answer for given in self._answers.values() for answer in given]
        if not enough or max(self._answers) + 1 != calls:
            return
        if all(answer.fault is Fault.MALFORMED for answer in every):
            of_constraint = every[0].reason.startswith("constraint ")
            hint = CONSTRAINT_HINT if of_constraint else ROWS_HINT if self._vectorized else RETURN_HINT
            hint = DICT_HINT if NO_KEY in every[0].reason else hint
            whose = "a constraint" if of_constraint else "fun"
            _raise_same_error(f"the first {calls} answers of {whose} cannot be read: {every[0].reason}", every[0], hint)
        if every[0].reason.endswith(MISSING_VALUE) and len({answer.reason for answer in every}) == 1:
            _raise_same_error(f"in the first {calls} answers of fun {every[0].reason}", every[0], RETURN_HINT)
        if answers[0].fault is Fault.RAISED and len({(a.fault, a.reason, a.where) for a in every}) == 1:
            said = f"the first {calls} calls of fun all raised {_describe_reason(answers[0])}"
            _raise_same_error(said, answers[0], START_HINT)

    def _check_mistakes(self, answers: list[Answer]) -> None:
        """EvaluationFailed where a call shows a mistake in the code.

        A name that is not defined is one at any time. A missing key may also be what a simulation that crashed leaves,
        so it counts only while nothing has succeeded, and at the third time.
        """
        for answer in answers:
            if answer.mistake is Mistake.CERTAIN:
                _raise_same_error(f"fun raised {_describe_reason(answer)}", answer, "correct it")
        if self._has_success(answers):
            return
        answer = answers[0]
        if answer.mistake is Mistake.LIKELY and answer.where:
            self._raised_at[answer.where] += 1
            if self._raised_at[answer.where] == SAME_LINE_CALLS:
                said = f"no call has succeeded, and {SAME_LINE_CALLS} raised {_describe_reason(answer)}"
                _raise_same_error(said, answer, self._hint_at_names(answer) or START_HINT)

    def _has_success(self, answers: list[Answer]) -> bool:
        """Whether one of these answers, or any before, is usable."""
        if not self._succeeded:
            waiting = [entry for entry, _, _ in self._log.waiting.values()]
            before = any(entry.good for entry in (*self._log.entries.values(), *waiting))
            self._succeeded = before or any(answer.fault is Fault.NONE for answer in answers)
        return self._succeeded

    def _check_failure_count(self, answers: list[Answer]) -> None:
        """EvaluationFailed where too many evaluations, in two calls if vectorized, failed before the first success."""
        if self._has_success(answers):
            return
        self._failed_calls += 1
        answer, failed = answers[0], len(self._log.entries) + len(self._log.waiting) + len(answers)
        if failed >= self._most_failures and (self._failed_calls > 1 or not self._vectorized):
            said = f"none of the first {failed} evaluations succeeded; the last {FAULT_MESSAGES[answer.fault]}"
            reason = f": {_describe_reason(answer)}" if answer.reason else ""
            _raise_same_error(said + reason, answer, START_HINT)

    def _hint_at_names(self, answer: Answer) -> str:
        """What x is where variables have names and an error looks as if that was forgotten; "" elsewhere."""
        if not self._names or not (answer.reason.startswith("KeyError") or "dict" in answer.reason):
            return ""
        keys = ", ".join(f'"{name}"' for name in self._names[:5]) + ", ..." * (len(self._names) > 5)
        use = "" if answer.reason.startswith("KeyError: '") else f': use x["{self._names[0]}"], not x[0]'
        return f"your bounds are named, so fun receives a dict with the keys {keys}{use}"


def _describe_reason(answer: Answer) -> str:
    """The reason of an answer, as any terminal can show it."""
    return answer.reason.encode("utf-8", "backslashreplace").decode()


def _describe_where(answer: Answer) -> str:
    """The place that an answer names, for the end of a sentence; "" where it names none."""
    return f", {answer.where}" if answer.where else ""


def _raise_same_error(said: str, answer: Answer, hint: str) -> NoReturn:
    """Raise EvaluationFailed, from what fun raised if it did: what is said, where in fun, a hint, the way to go on.

    On the command line the hint and the way are spelled as its options.
    """
    place = _describe_where(answer)
    advice = option = f'; {hint}; on_error="penalize" goes on regardless'
    for keyword, spelling in COMMAND_OPTIONS.items():
        option = option.replace(keyword, spelling)
    error = EvaluationFailed(said + place + advice).on_command_line(said + place + option)
    raise error from (None if answer.cause is None else answer.cause.error)
