"""What keeps a computation alive in its store while its process is at work, and hears that it must stop.

Entry points: `Heart`, for each kind of computation a class of its own, `Stopped`, and `parent_watch`.
"""

from __future__ import annotations

import contextvars
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import ClassVar

import multiprocess

BEAT = 1.0  # seconds between heartbeats


class Stopped(BaseException):
    """It must stop now: cancel was asked for, or another process has it. Not an `Exception`: nobody eats it."""


class Heart(ABC):
    """A thread that beats once a second: it says that the process lives, and ends it when its parent is gone.

    A cancel that comes during a long step raises `Stopped` in the main thread through a signal, but only within
    `interruptible`, so that it never falls between finding something and keeping it.

    Parameters
    ----------
    parent_lives : callable or None
        Where it returns False, the process is ended at once. None to watch nothing.

    Attributes
    ----------
    leaving : bool
        Whether the process was told to end, by one of `signals` that is not the thread's own SIGUSR1.
    """

    signals: ClassVar[tuple[int, ...]] = (signal.SIGUSR1,)

    def __init__(self, parent_lives: Callable[[], bool] | None) -> None:
        self._parent_lives = parent_lives
        self._done = threading.Event()
        self._stop = threading.Event()
        self._open = False
        self.leaving = False

    @abstractmethod
    def beat(self) -> bool:
        """Write into the store that the process lives; True where it must stop."""

    @abstractmethod
    def notify(self) -> None:
        """Tell whoever listens that the store may have something new."""

    @abstractmethod
    def let_go(self) -> None:
        """Close the computation in the store, for the parent is gone and the process about to end."""

    def check(self) -> None:
        """Raise `Stopped` where it must stop."""
        if self._stop.is_set() or self.leaving:
            raise Stopped

    def wait(self, seconds: float) -> None:
        """Wait, and raise `Stopped` as soon as it must stop."""
        self._stop.wait(seconds)
        self.check()

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Beat while the block runs."""
        context = contextvars.copy_context()  # so that its log lines are about this computation too
        thread = threading.Thread(target=context.run, args=(self._beat,), name="heart", daemon=True)
        with self._listening():
            thread.start()
            try:
                yield
            finally:
                self._done.set()
                thread.join()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let a cancel end the block from inside."""
        self.check()
        self._open = True
        try:
            yield
        finally:
            self._open = False

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Take the signals, where this is the main thread; elsewhere a cancel is noticed between steps."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = [signal.signal(number, self._on_signal) for number in self.signals]
        try:
            yield
        finally:
            for number, handler in zip(self.signals, before, strict=True):
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGUSR1:
            self.leaving = True  # and no event: its lock may be held by what the signal interrupts
        if self._open:
            self._open = False
            raise Stopped

    def _beat(self) -> None:
        main = threading.main_thread().ident
        signalled = signal.getsignal(signal.SIGUSR1) == self._on_signal
        while not self._done.wait(BEAT):
            self._end_with_parent()
            if self.beat():
                self._stop.set()
            if self._stop.is_set() and self._open and signalled and main is not None:
                signal.pthread_kill(main, signal.SIGUSR1)
            self.notify()

    def _end_with_parent(self) -> None:
        if self._parent_lives is None or self._parent_lives():
            return
        try:
            self.let_go()
        finally:
            os._exit(1)


def parent_watch() -> Callable[[], bool]:
    """Return a function that says whether the process that asked for this one still lives.

    Under the fork server the parent in the kernel's sense is that server, which outlives whoever asked.
    """
    asker = multiprocess.parent_process()
    if asker is not None:
        return lambda: bool(asker.is_alive())
    parent = os.getppid()
    return lambda: os.getppid() == parent
