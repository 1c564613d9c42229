"""How many threads NumPy's linear algebra uses: one while a search computes, those of the caller in the function.

The matrices of a search are small: several threads take several times the processor time and no less of the clock, and
sums of another number of parts may differ in their last bits.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from meco.core.thread_variables import THREAD_VARIABLES

THREAD_FUNCTIONS = (  # of libraries of linear algebra: those that tell a number of threads, and that set it
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ("bli_thread_get_num_threads", ""),
)


class ThreadFunctions(NamedTuple):
    """What tells and what sets the number of threads; None where the library has no such function."""

    get: Callable[[], int] | None = None
    set: Callable[[int], Any] | None = None


@cache
def find_thread_functions() -> ThreadFunctions:
    """The functions of the library that NumPy's linear algebra was built with."""
    try:
        library = ctypes.CDLL(np.linalg._umath_linalg.__file__)
    except (OSError, AttributeError, TypeError):
        return ThreadFunctions()
    for tells, sets in THREAD_FUNCTIONS:  # names are looked for in what the library itself loads, too
        get = getattr(library, tells, None)
        if get is not None:
            get.restype, get.argtypes = ctypes.c_int, []
            put = getattr(library, sets, None) if sets else None
            if put is not None:
                put.restype, put.argtypes = None, [ctypes.c_int]
            return ThreadFunctions(get, put)
    return ThreadFunctions()


def count_blas_threads() -> int | None:
    """Threads of NumPy's linear algebra; None where neither the library nor the environment tells."""
    ask = find_thread_functions().get
    if ask is not None:
        return int(ask()) or None
    given = (os.environ.get(name, "").partition(",")[0] for name in THREAD_VARIABLES)
    return next((int(text) for text in given if text.isdigit() and int(text) > 0), None)


def count_search_threads() -> int | None:
    """Threads that a search computes with: one where the library lets us set it, else as many as there are."""
    return count_blas_threads() if find_thread_functions().set is None else 1


class _Setting:
    """Who of this process computes: the number of threads is one while searches do and no function is called.

    Searches and calls may be those of several threads of the caller, whose functions always have the former number.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.searches = self.calls = 0
        self.former = 0  # as it was before the first of the searches
        self.mine = threading.local()  # calls that this thread is in

    def enter_search(self) -> int:
        """Begin to search; gives the calls that this thread is in, which wait for it: a search inside a function."""
        with self.lock:
            if not self.searches:
                self.former = count_blas_threads() or 0
            self.searches += 1
            waiting = getattr(self.mine, "calls", 0)
            self.mine.calls = 0
            self.calls -= waiting
            self._apply()
        return waiting

    def leave_search(self, waiting: int) -> None:
        """End a search, whose enter_search() gave this number."""
        with self.lock:
            self.searches -= 1
            self.mine.calls = waiting
            self.calls += waiting
            self._apply()

    def enter_call(self) -> None:
        """Begin to call a function of the user's."""
        with self.lock:
            self.mine.calls = getattr(self.mine, "calls", 0) + 1
            self.calls += 1
            self._apply()

    def leave_call(self) -> None:
        """End a call; what the function itself has set stays what functions have."""
        with self.lock:
            self.former = count_blas_threads() or self.former
            self.mine.calls -= 1
            self.calls -= 1
            self._apply()

    def _apply(self) -> None:
        """Set the number of threads that is due, where it is another one."""
        functions = find_thread_functions()
        wanted = 1 if self.searches and not self.calls else self.former
        if self.former > 1 and functions.set is not None and functions.get is not None and functions.get() != wanted:
            functions.set(wanted)


_setting = _Setting()


def _renew_lock() -> None:
    """In a forked child: nobody is left who would release a lock that another thread held."""
    _setting.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside the block linear algebra has one thread, but in functions of the user's; also a decorator."""
    waiting = _setting.enter_search()
    try:
        yield
    finally:
        _setting.leave_search(waiting)


@contextmanager
def threads_of_caller() -> Iterator[None]:
    """Inside the block linear algebra has the threads that it had before the search."""
    if not _setting.searches or _setting.former <= 1:  # outside of any search, or nothing was changed
        yield
        return
    _setting.enter_call()
    try:
        yield
    finally:
        _setting.leave_call()
