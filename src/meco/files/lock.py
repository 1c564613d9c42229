"""One writer for a run folder. The operating system holds the lock, so it ends with its process."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from meco.errors import InvalidInput
from meco.files.regular_files import check_regular

_LOCKED_HERE: set[str] = set()  # folders this process writes to: the system's lock is per process


class Lock:
    """Held from creation to release(); a file left behind by a dead process blocks nobody."""

    def __init__(self, path: Path) -> None:
        """Take the lock at once, making its file where it is missing; InvalidInput says which process holds it."""
        check_regular(path.parent, [path.name])
        self.name = os.path.realpath(path)
        if self.name in _LOCKED_HERE:
            raise InvalidInput(f"{path.parent} is already in use by another run of this process")
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not _try_lock(self.descriptor):
            holder = os.read(self.descriptor, 32).decode("ascii", "replace").strip()
            os.close(self.descriptor)
            raise InvalidInput(f"{path.parent} is in use by process {holder or 'unknown'}; wait for it or end it first")
        _LOCKED_HERE.add(self.name)
        with suppress(OSError):  # on a full disk the lock holds, and only does not say whose it is
            os.ftruncate(self.descriptor, 0)
            os.write(self.descriptor, f"{os.getpid()}\n".encode())

    def renew(self) -> None:
        """Take the lock again where its file was removed or replaced.

        InvalidInput where somebody else has it by now.
        """
        with suppress(OSError):
            if os.path.samestat(os.stat(self.name), os.fstat(self.descriptor)):
                return
        self.release()
        self.__init__(Path(self.name))  # type: ignore[misc]

    def release(self) -> None:
        """Let the next writer in; the file stays. A second call does nothing."""
        if self.descriptor >= 0:
            _LOCKED_HERE.discard(self.name)
            os.close(self.descriptor)
            self.descriptor = -1


def _try_lock(descriptor: int) -> bool:
    """Whether the lock is ours now; True too on a file system without locks, which cannot say no."""
    try:
        import fcntl
    except ImportError:
        return _try_lock_on_windows(descriptor)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not inherited by worker processes
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass
    return True


def _try_lock_on_windows(descriptor: int) -> bool:
    """Whether the lock is ours now, by the means of Windows."""
    import msvcrt

    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True
