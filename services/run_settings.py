"""What a run was asked to do: checked values, their form in the address, and the key of their content.

Entry points: `SearchSettings`, `RunSettings` and `content_key`.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from offgrid.comparison import OFFERED, RECOMMENDED, SEARCH
from offgrid.errors import InputError
from services.points import DataSpec

METHODS = ("certified", "dyadic", "newton", "bisection")
INITS = ("random", "k-means++", "kernel-k-means++")
STARTS = ("percentile", "bound")
LIMITING = ("close", "movers")
KERNELS = ("rbf", "laplacian", "polynomial")
KERNEL_TITLES = {"rbf": "RBF", "laplacian": "Laplacian", "polynomial": "Polynomial"}
MAX_SEED = 2**32 - 1


@dataclass(frozen=True)
class SearchSettings:
    """Everything but the data that decides the path. Bad values raise `InputError` with one sentence.

    Attributes
    ----------
    n_clusters : int
    method : {"certified", "dyadic", "newton", "bisection"}
    depths : tuple of int
        Depths of the levels of the dyadic search.
    start : {"percentile", "bound"} or float
        Bandwidth to start from.
    init : {"random", "k-means++", "kernel-k-means++"}
    n_init : int
        Restarts of the first partition.
    seed : int
    limiting : {None, "close", "movers"}
        Limiting check of the dyadic search.
    max_steps : int or None
        Largest number of values to find.
    kernel : {"rbf", "laplacian", "polynomial"}
        The kernel whose parameter is searched.
    offset : float
        c of the polynomial kernel (x'y + c)^degree.
    plus : tuple of (float, str, float) or None
        A fixed kernel that is added: its weight, its name, and the value of its parameter.
    """

    n_clusters: int
    method: str = "certified"
    depths: tuple[int, ...] = (1, 2)
    start: str | float = "percentile"
    init: str = "random"
    n_init: int = 1
    seed: int = 0
    limiting: str | None = None
    max_steps: int | None = None
    kernel: str = "rbf"
    offset: float = 1.0
    plus: tuple[float, str, float] | None = None

    def __post_init__(self) -> None:
        _whole("The number of clusters k", self.n_clusters, 1)
        _one_of("The method", self.method, METHODS)
        _one_of("The start partition", self.init, INITS)
        _whole("The number of restarts", self.n_init, 1, 1_000)
        _whole("The seed", self.seed, 0, MAX_SEED)
        if self.limiting is not None:
            _one_of("The limiting check", self.limiting, LIMITING)
        if self.max_steps is not None:
            _whole("The step budget", self.max_steps, 1)
        if not self.depths:
            raise InputError("No depth is chosen; the search needs at least one level.")
        for depth in self.depths:
            _whole("A depth", depth, 1, 40)
        if isinstance(self.start, str):
            _one_of("The start", self.start, STARTS)
        elif not (math.isfinite(self.start) and self.start > 0):
            raise InputError(f"The start is {self.symbol} = {self.start}; it must be a positive number.")
        self._check_kernel()

    def _check_kernel(self) -> None:
        _one_of("The kernel", self.kernel, KERNELS)
        if not math.isfinite(self.offset):
            raise InputError(f"The polynomial kernel's constant c is {self.offset}; it must be a number.")
        if self.plus is not None:
            weight, kernel, value = self.plus
            _one_of("The kernel that is added", kernel, KERNELS)
            _positive("The weight of the kernel that is added", weight)
            _positive(f"The {'degree' if kernel == 'polynomial' else 'σ'} of the kernel that is added", value)
            if self.method == "dyadic":
                raise InputError("The method is dyadic, and a sum of kernels has no such search; choose certified.")
        if self.start == "bound" and not self.plain:
            raise InputError("The start is Theorem 1's bound, which is for the RBF kernel; choose another start.")

    @property
    def plain(self) -> bool:
        """Whether the kernel is the RBF kernel alone, for which Theorem 1 and the recommendation are."""
        return self.kernel == "rbf" and self.plus is None

    @property
    def symbol(self) -> str:
        """What the searched parameter is called."""
        return "degree" if self.kernel == "polynomial" else "σ"

    @property
    def far_end(self) -> tuple[str, str]:
        """What lies at the end of the path, in two lines."""
        if self.kernel == "polynomial":
            return "Degree 64", "the search ends"
        if self.plus is not None:
            return "Fixed kernel", "alone, the far end"
        return "k-means", "the far end" if self.kernel == "rbf" else "with ‖x−y‖₁"

    @property
    def kernel_title(self) -> str:
        """The kernel in a word or two ("RBF", "RBF + Laplacian")."""
        return KERNEL_TITLES[self.kernel] + ("" if self.plus is None else f" + {KERNEL_TITLES[self.plus[1]]}")

    @property
    def deciding(self) -> dict[str, Any]:
        """The values that can change the path: only the dyadic search has levels and limiting checks."""
        values = asdict(self)
        if "polynomial" not in (self.kernel, self.plus and self.plus[1]):
            del values["offset"]
        return values if self.method == "dyadic" else {**values, "limiting": None, "depths": (1,)}


@dataclass(frozen=True)
class RunSettings:
    """Data and search: everything needed to do a run again, and the methods that it is compared with."""

    data: DataSpec
    search: SearchSettings
    compare: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.compare:
            _one_of("A method to compare with", name, OFFERED)
        object.__setattr__(self, "compare", tuple(name for name in OFFERED if name in self.compare))

    @property
    def comparisons(self) -> tuple[str, ...]:
        """Everything that is carried out beside the search: the recommendation where it applies, then `compare`."""
        return (RECOMMENDED, *self.compare) if self.search.plain else self.compare

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"data": self.data.to_dict(), "search": asdict(self.search), "compare": list(self.compare)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunSettings:
        """Rebuild from `to_dict`."""
        search = dict(values["search"])
        search["depths"] = tuple(search["depths"])
        plus = search.get("plus")
        search["plus"] = None if plus is None else tuple(plus)
        return cls(DataSpec.from_dict(values["data"]), SearchSettings(**search), tuple(values.get("compare", ())))

    def to_query(self) -> dict[str, str]:
        """Return the values for the address; the ones at their defaults are left out, except data and k."""
        query = {"data": self.data.source, "k": str(self.search.n_clusters)}
        if self.data.columns is not None:
            query["columns"] = json.dumps(list(self.data.columns), ensure_ascii=False)
        if self.data.label != "auto":
            query["label"] = self.data.label or ""
        for name in ("missing", "scaling"):
            if getattr(self.data, name) != _default(DataSpec, name):
                query[name] = getattr(self.data, name)
        for name in ("method", "start", "init", "n_init", "seed", "limiting", "max_steps", "kernel", "offset"):
            if getattr(self.search, name) != _default(SearchSettings, name):
                query[name] = str(getattr(self.search, name))
        if self.search.depths != _default(SearchSettings, "depths"):
            query["depths"] = ",".join(str(depth) for depth in self.search.depths)
        if self.search.plus is not None:
            query["plus"] = ",".join(str(part) for part in self.search.plus)
        if self.compare:
            query["compare"] = ",".join(self.compare)
        return query

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> RunSettings:
        """Rebuild from the values in an address, which anybody may have written.

        Raises
        ------
        InputError
            Where a value can't be used.
        """
        if "data" not in query or "k" not in query:
            raise InputError("The address names no data set and k; choose them at the left.")
        data: dict[str, Any] = {"source": query["data"]}
        if "columns" in query:
            data["columns"] = _columns(query["columns"])
        if "label" in query:
            data["label"] = query["label"] or None
        data |= {name: query[name] for name in ("missing", "scaling") if name in query}
        search: dict[str, Any] = {"n_clusters": _integer("k", query["k"])}
        search |= {name: query[name] for name in ("method", "init", "limiting", "kernel") if name in query}
        search |= {name: _integer(name, query[name]) for name in ("n_init", "seed", "max_steps") if name in query}
        if "start" in query:
            allowed = f"{', '.join(STARTS)} or a positive number"
            start = query["start"]
            search["start"] = start if start in STARTS else _float("start", start, allowed)
        if "depths" in query:
            search["depths"] = tuple(_integer("depths", depth) for depth in query["depths"].split(","))
        if "offset" in query:
            search["offset"] = _float("offset", query["offset"], "a number")
        if "plus" in query:
            search["plus"] = _term(query["plus"])
        compare = tuple(name for name in query.get("compare", "").split(",") if name)
        return cls(DataSpec.from_dict(data), SearchSettings(**search), compare)


def content_key(data_hash: str, search: SearchSettings) -> str:
    """Return the key under which a run is found again: sha256 of data, deciding settings and the library's version."""
    content = {"data": data_hash, "search": search.deciding, "version": library_version()}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def library_version() -> str:
    """Return the version of the installed library, or of the source tree where it is not installed."""
    import offgrid

    try:
        return importlib.metadata.version("offgrid")
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(offgrid, "__version__", "0"))


def _default(cls: type, name: str) -> Any:
    return next(field.default for field in fields(cls) if field.name == name)


def _whole(what: str, value: object, low: int, high: int | None = None) -> None:
    if isinstance(value, int) and not isinstance(value, bool) and value >= low and (high is None or value <= high):
        return
    allowed = f"from {low}" if high is None else f"from {low} to {high:,}"
    raise InputError(f"{what} is {value}; it must be a whole number {allowed}.")


def _positive(what: str, value: object) -> None:
    if not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise InputError(f"{what} is {value}; it must be a positive number.")


def _one_of(what: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{what} is {value!r}; it must be one of {', '.join(allowed)}.")


def _integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"The address has {name}={text}; it must be a whole number.") from None


def _float(name: str, text: str, allowed: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"The address has {name}={text}; it must be {allowed}.") from None


def _term(text: str) -> tuple[float, str, float]:
    parts = text.split(",")
    allowed = "a weight, a kernel and its parameter, such as 0.5,laplacian,2"
    if len(parts) != 3:
        raise InputError(f"The address has plus={text}; it must be {allowed}.")
    return _float("plus", parts[0], allowed), parts[1], _float("plus", parts[2], allowed)


def _columns(text: str) -> tuple[str, ...]:
    try:
        columns = json.loads(text)
    except ValueError:
        columns = None
    if not isinstance(columns, list) or not all(isinstance(column, str) for column in columns):
        raise InputError("The address has a list of columns that can't be read; choose the columns at the left.")
    return tuple(columns)


def comparison_key(name: str, data_hash: str, search: SearchSettings) -> str:
    """Return the key under which a method's result is found again: what it depends on, and the library's version."""
    start = "random" if search.init == "random" else "k-means++"
    own = {"k": search.n_clusters, "seed": search.seed} | ({} if name == RECOMMENDED else {"init": start})
    own = search.deciding if name == SEARCH else own
    content = {"method": name, "data": data_hash, **own, "version": library_version()}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
