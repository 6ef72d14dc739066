"""A Dask cluster: reaching it, and waiting for what it was asked while workers come and go.

Entry points: `configured` (the scheduler's address, from the environment), `check` (one sentence where it cannot be
used; ``python -m offgrid.dask_cluster`` does it for the configured one) and `connect`, whose `Cluster` sends objects,
submits tasks and yields their results. Dask is an extra: nothing of it is imported before an address is given.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from offgrid.errors import InputError

ENVIRONMENT = "OFFGRID_DASK_SCHEDULER"
_SCHEMES = ("tcp", "tls", "ucx", "ws", "wss", "inproc")
_HOW = "give an address such as tcp://10.0.0.5:8786"
# Seconds: to reach the scheduler, to wait for a worker where there is none, and between two looks at the workers.
REACH = 10.0
PATIENCE = 60.0
_BEAT = 2.0
# Times that a pass is begun anew because what its workers had was lost with them.
TRIES = 5

logger = logging.getLogger(__name__)
_connections: dict[tuple[str, int], Cluster] = {}


class ClusterError(InputError):
    """The cluster that was given cannot be used, or has been lost. The message is one sentence, as everywhere."""


class _Lost(Exception):
    """What was sent or asked is gone with the workers that had it; the cluster itself may still be there."""


def parse_address(text: str) -> str:
    """Return the address of a scheduler, or raise ClusterError where it is none."""
    try:
        parts = urlsplit(text)
        known = parts.scheme in _SCHEMES and bool(parts.hostname) and (parts.port or 0) > 0
    except ValueError:
        known = False
    if not known and not text.startswith("inproc://"):
        raise ClusterError(f"{ENVIRONMENT} is {text!r}, which is no scheduler's address; {_HOW}.")
    return text


def configured() -> str | None:
    """Return the scheduler's address from `OFFGRID_DASK_SCHEDULER`, None where none is given."""
    text = os.environ.get(ENVIRONMENT, "").strip()
    return parse_address(text) if text else None


def check(address: str) -> None:
    """Raise ClusterError where there is no scheduler at an address, or its workers are not fit for this package."""
    Cluster(parse_address(address)).close()


def connect(address: str) -> Cluster:
    """Return this process's connection to a cluster, made anew where the last one was lost."""
    # one inherited through fork has no thread behind it
    key = address, os.getpid()
    if key not in _connections:
        _connections[key] = Cluster(address)
    elif not _connections[key].alive:
        try:
            _connections[key] = Cluster(address)
        except ClusterError as error:
            raise _gone(address) from error
    return _connections[key]


def _gone(address: str) -> ClusterError:
    return ClusterError(
        f"The Dask scheduler at {address} has gone; start it again, and resume from the last record found."
    )


def disconnect() -> None:
    """End this process's connections; they end with the process, too."""
    for key in [key for key in _connections if key[1] == os.getpid()]:
        _connections.pop(key).close()


def build() -> tuple[str, ...]:
    """Return what decides the bits of a sum: the versions of this package and its compiler, and the processor's kind.

    `NUMBA_CPU_NAME` and `NUMBA_CPU_FEATURES` make processors of different kinds compute alike.
    """
    import numba
    from numba.core.registry import cpu_target

    from offgrid import __version__

    _, processor, features = cpu_target.target_context.codegen().magic_tuple()
    return f"offgrid {__version__}", f"numba {numba.__version__}", processor, features


def check_build(theirs: tuple[str, ...], worker: str = "") -> None:
    """Raise ClusterError where a worker's build, or that of the process that asks this worker, is not this one's."""
    ours = build()
    if theirs == ours:
        return
    differing = [f"{there!r} and {here!r}" for there, here in zip(theirs[:3], ours, strict=False) if there != here]
    raise ClusterError(
        f"The Dask worker {worker or 'that was asked'} and the process that searches differ "
        f"({', '.join(differing) or 'in features of their processors'}), and so would the last bits of sums; install "
        "the same versions everywhere, and give processors of different kinds the same NUMBA_CPU_NAME and "
        "NUMBA_CPU_FEATURES."
    )


class Cluster:
    """A connection to a scheduler.

    Attributes
    ----------
    address : str
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ModuleNotFoundError as error:
            raise ClusterError(
                f"{ENVIRONMENT} is {address!r}, but Dask is not installed here: run 'pip install \"offgrid[dask]\"'."
            ) from error
        self.address = address
        try:
            self._client = Client(address, timeout=REACH, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"{ENVIRONMENT} is {address!r}, where no Dask scheduler answers; start one there, or {_HOW}."
            ) from error
        try:
            self._check_workers()
        except BaseException:
            self.close()
            raise

    def _check_workers(self) -> None:
        """Raise ClusterError where a worker lacks this package, or has another build of it."""
        try:
            builds = self._client.run(build)
        except ModuleNotFoundError as error:
            raise ClusterError(
                f"A Dask worker of {self.address} has no module {error.name}: install this package on every worker."
            ) from error
        for worker, theirs in builds.items():
            check_build(theirs, worker)

    @property
    def alive(self) -> bool:
        """Whether the connection stands."""
        return bool(self._client.status == "running")

    def close(self) -> None:
        """End the connection; what was sent over it is forgotten by the cluster."""
        self._client.close(timeout=REACH)

    def threads(self) -> int:
        """Return the number of the workers' threads, 0 where there is no worker, or no scheduler."""
        try:
            return sum(self._client.nthreads().values())
        except (OSError, TimeoutError):
            return 0

    def wait_for_workers(self) -> int:
        """Return the workers' threads once there is a worker, or raise ClusterError after `PATIENCE`."""
        since = time.monotonic()
        while not (threads := self.threads()):
            self._give_up_after_patience(since)
            time.sleep(min(_BEAT, PATIENCE) / 4)
        return threads

    def _give_up_after_patience(self, since: float) -> None:
        if not self.alive and self._client.status != "connecting":
            raise _gone(self.address)
        if time.monotonic() - since > PATIENCE:
            raise ClusterError(
                f"The Dask scheduler at {self.address} has had no worker for {PATIENCE:.0f} seconds; start workers, "
                "and resume from the last record found."
            )

    def send(self, value: Any) -> Any:
        """Send an object to one worker, from which others fetch it, and return the handle that tasks take for it."""
        with self._losses():
            try:
                return self._client.scatter(value, hash=False)
            except (OSError, TimeoutError) as error:
                # the worker that was to have it has just gone
                raise _Lost(str(error)) from error

    def submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """Have a worker carry out a task; arguments may be handles. Returns a handle for the result."""
        return self._client.submit(task, *arguments, pure=False)

    def results(self, handles: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield (index, result) as tasks finish, whatever worker finishes them.

        Dask itself does the work of a lost worker again. Where it cannot, for what it needs was lost too, or where no
        worker is left for `PATIENCE`, this raises.
        """
        from distributed import wait

        pending = {handle: index for index, handle in enumerate(handles)}
        since = time.monotonic()
        while pending:
            try:
                with self._losses(), self._client.as_current():
                    finished = list(wait(list(pending), timeout=_BEAT, return_when="FIRST_COMPLETED").done)
                    values = self._client.gather(finished)
            except TimeoutError:
                since = time.monotonic() if self.threads() else since
                self._give_up_after_patience(since)
                continue
            since = time.monotonic()
            for handle, value in zip(finished, values, strict=True):
                yield pending.pop(handle), value

    @contextmanager
    def _losses(self) -> Iterator[None]:
        """Tell Dask's ways of saying that something is lost apart: what can be sent again, and what cannot be done."""
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        try:
            yield
        except CancelledError as error:
            raise _Lost(str(error)) from error
        except KilledWorker as error:
            raise ClusterError(
                f"{error.allowed_failures + 1} workers of the Dask scheduler at {self.address} died over one block of "
                "rows; give workers more memory (their logs say more), and resume from the last record found."
            ) from error

    def carry_out(self, submit: Callable[[int, bool], Sequence[Any]], place: Callable[[int, Any], None]) -> None:
        """Submit a pass's tasks and place each result, and begin again where what workers had was lost with them.

        Parameters
        ----------
        submit : callable
            Takes the workers' number of threads, and whether everything has to be sent anew; returns handles.
        place : callable
            Called with the index of a handle and its result; after a loss, with those that were placed before, too.
        """
        for attempt in range(TRIES):
            try:
                for index, value in self.results(submit(self.wait_for_workers(), attempt > 0)):
                    place(index, value)
            except _Lost as error:
                logger.warning("a pass begins again: %s", error)
                time.sleep(_BEAT)  # until the scheduler, too, knows who has gone
            else:
                return
        raise ClusterError(
            f"The workers of the Dask scheduler at {self.address} were lost {TRIES} times during one pass; see why in "
            "their logs, and resume from the last record found."
        )


def main() -> int:
    """Say whether the configured cluster can be used."""
    try:
        address = configured()
        if address is None:
            raise ClusterError(f"{ENVIRONMENT} is not set; {_HOW}.")
        check(address)
    except ClusterError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{address} answers, and its workers are fit for searches.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
