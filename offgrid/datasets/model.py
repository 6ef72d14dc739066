"""What data look like once they are in memory: `Dataset` (built-in) and `Points` (ready for a search).

Memory: one float64 matrix each, n * d * 8 bytes; `scaled` makes a second one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from offgrid.errors import InputError

Scaling = Literal["none", "unit", "robust"]
Missing = Literal["drop", "median"]
SCALINGS: tuple[str, ...] = get_args(Scaling)
MISSING: tuple[str, ...] = get_args(Missing)
RULING = 0.9  # share of the variance from which one column is said to decide nearly alone


@dataclass(frozen=True, eq=False)
class Points:
    """Points ready for a search: no missing values, scaled as asked.

    Attributes
    ----------
    title : str
        Name for people: the data set's title, or the file's name.
    X : ndarray of float64, shape (n, d), C-contiguous, finite
    y : ndarray of int64, shape (n,), or None
        Class of each row as an index into `class_names`.
    feature_names : tuple of str
    class_names : tuple of str
        Empty where there are no labels.
    rows : ndarray of int64, shape (n,)
        For each row its number (from 0) in the table or data set it came from: rows may have been dropped.
    row_names : tuple of str
        What tells each row from the others, as a column of text has it; empty where no column does.
    notes : tuple of str
        What was done on the way, in sentences for people.
    image_shape : tuple of int or None
        Height and width where each row is a picture, read row by row.
    n_given : int or None
        Rows that there were before any were left out, None where all are here.
    """

    title: str
    X: NDArray[np.float64]
    y: NDArray[np.int64] | None
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    rows: NDArray[np.int64]
    row_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    image_shape: tuple[int, int] | None = None
    n_given: int | None = None

    def __iter__(self) -> Iterator[Any]:
        """Yield `X` and `y`, so that ``X, y = points`` works."""
        return iter((self.X, self.y))

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_left_out(self) -> int:
        """Number of rows left out, for their missing values."""
        return 0 if self.n_given is None else self.n_given - self.n

    @property
    def n_classes(self) -> int | None:
        """Number of classes, None without labels."""
        return None if self.y is None else len(self.class_names)

    @cached_property
    def likely_image_shape(self) -> tuple[int, int] | None:
        """Height and width of rows that are, or look like, pictures: `image_shape`, or a square of pixels.

        Pixels are numbers from 0 to 1, or whole ones from 0 to 255, in 16 columns or more, most of which vary over a
        quarter of that and come near 0. Ask this of points that are not scaled.
        """
        if self.image_shape is not None:
            return self.image_shape
        side = math.isqrt(self.X.shape[1])
        if side < 4 or side * side != self.X.shape[1] or self.X.min() != 0.0:
            return None
        top = self.X.max()
        pixels = 0.0 < top <= 1.0 or (top <= 255.0 and bool((np.floor(self.X) == self.X).all()))
        begins = self.X.min(axis=0) < 0.05 * top
        varied = np.ptp(self.X, axis=0) > 0.25 * top
        return (side, side) if pixels and begins.mean() > 0.5 and varied.mean() > 0.5 else None

    @cached_property
    def hash(self) -> str:
        """SHA-256 (hex) over the shape, the numbers, the labels and the names: equal content, equal hash."""
        digest = hashlib.sha256()
        for part in (repr(self.X.shape), repr(self.feature_names), repr(self.class_names), repr(self.y is None)):
            digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
        digest.update(np.ascontiguousarray(self.X, dtype="<f8").tobytes())
        if self.y is not None:
            digest.update(np.ascontiguousarray(self.y, dtype="<i8").tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Dataset:
    """A built-in data set, raw (unscaled). Iterating it gives `X` and `y`.

    Attributes
    ----------
    name : str
        Name by which `offgrid.datasets.load` knows it.
    title : str
        Name for people.
    X : ndarray of float64, shape (n, d)
    y : ndarray of int64, shape (n,), or None
        Class of each row as an index into `class_names`.
    feature_names, class_names : tuple of str
    description : str
        One sentence.
    scaling : {"none", "unit", "robust"}
        The scaling proposed for a search.
    image_shape : tuple of int or None
        Height and width where each row is a picture.
    """

    name: str
    title: str
    X: NDArray[np.float64]
    y: NDArray[np.int64] | None
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    description: str
    scaling: Scaling = "none"
    image_shape: tuple[int, int] | None = field(default=None)

    def __iter__(self) -> Iterator[Any]:
        """Yield `X` and `y`, so that ``X, y = load("flame")`` works."""
        return iter((self.X, self.y))

    @property
    def k(self) -> int | None:
        """Number of clusters proposed: the number of classes, None without labels."""
        return None if self.y is None else len(self.class_names)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.X)

    def cells(self) -> Iterator[Sequence[Any]]:
        """Yield the names of the columns, then each row; the classes are in a last column ``label``."""
        rows = self.X.tolist()
        if self.y is None:
            yield from (self.feature_names, *rows)
            return
        yield (*self.feature_names, "label")
        yield from ([*row, self.class_names[i]] for row, i in zip(rows, self.y.tolist(), strict=True))

    def prepare(
        self,
        *,
        label: str | None = "auto",
        columns: Sequence[str] | None = None,
        scaling: str | None = None,
    ) -> Points:
        """Return the points of a search.

        Parameters
        ----------
        label : "auto" or None
            ``"auto"`` keeps the labels, None leaves them out.
        columns : sequence of str or None
            Features to use, in this order; None for all.
        scaling : {"none", "unit", "robust"} or None
            None for the one proposed.

        Raises
        ------
        InputError
            If a value is not one of these.
        """
        if label not in ("auto", None):
            raise InputError(
                f"The label column {label!r} is not in {self.title}: its labels are built in, choose auto or none."
            )
        chosen = pick_columns(self.feature_names, columns)
        X, notes = scaled(self.X[:, chosen], scaling or self.scaling, [self.feature_names[i] for i in chosen])
        whole = chosen == list(range(len(self.feature_names)))
        with_labels = label == "auto" and self.y is not None
        return Points(
            title=self.title,
            X=X,
            y=self.y if with_labels else None,
            feature_names=tuple(self.feature_names[i] for i in chosen),
            class_names=self.class_names if with_labels else (),
            rows=np.arange(len(X), dtype=np.int64),
            notes=notes,
            image_shape=self.image_shape if whole else None,
        )


def pick_columns(names: Sequence[str], columns: Sequence[str] | None) -> list[int]:
    """Return the positions of `columns` among `names`, all of them for None."""
    if columns is None:
        return list(range(len(names)))
    if isinstance(columns, str):
        columns = (columns,)
    if not columns:
        raise InputError("No column is chosen: a search needs at least one column of numbers.")
    position = {name: i for i, name in enumerate(names)}
    for i, name in enumerate(columns):
        if name not in position:
            raise InputError(f"There is no column {name!r}: choose from {listed(names)}.")
        if name in columns[:i]:
            raise InputError(f"The column {name!r} is chosen twice: choose each column once.")
    return [position[name] for name in columns]


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names as words: "a, b and c", cut after `most` of them."""
    shown = [str(name) for name in (names[:most] if len(names) > most + 1 else names)]
    if len(names) > most + 1:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"


def called(name: str) -> str:
    """Return "column x" for x, and "column 3" as it is."""
    return name if name.startswith("column ") else f"column {name}"


def capital(words: str) -> str:
    """Return words with a capital at the start, the rest as it is."""
    return words[:1].upper() + words[1:]


def _ruling(X: NDArray[np.float64], names: Sequence[str]) -> tuple[str, ...]:
    """Return a note on a column whose numbers are so much larger that it decides nearly alone, or nothing."""
    if X.shape[1] < 2:
        return ()
    power = np.exp2(min(np.frexp(np.abs(X).max(initial=0.0))[1], 1000))  # keeps the squares within range
    variances = (X / power).var(axis=0)
    most = int(variances.argmax())
    part = variances[most] / variances.sum() if variances[most] > 0 else 0.0
    if part < RULING:
        return ()
    rules = (
        f"{capital(called(names[most]))} holds {100 * min(part, 0.999):.3g}% of the variance, and decides nearly alone"
    )
    return (f"{rules}: choose unit variance to give every column the same weight.",)


def scaled(X: NDArray[np.float64], scaling: str, names: Sequence[str]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return a scaled C-contiguous copy of `X`, and notes.

    ``"unit"`` divides each column by its standard deviation (ddof 0), with no centring; ``"robust"`` subtracts the
    median and divides by the interquartile range. Columns whose divisor is 0 are left alone.
    """
    if scaling not in SCALINGS:
        raise InputError(f"The scaling {scaling!r} is not known: choose none, unit or robust.")
    X = np.array(X, dtype=np.float64, order="C", copy=True)
    if scaling == "none":
        return X, _ruling(X, names)
    constant = X.min(axis=0) == X.max(axis=0)
    # A power of two changes no digit, and keeps the squares of columns near 1e-200 or 1e200 within range.
    power = np.exp2(np.clip(np.frexp(np.abs(X).max(axis=0))[1], -1000, 1000))
    X /= power
    if scaling == "unit":
        centre, spread, word = np.zeros(X.shape[1]), X.std(axis=0), "standard deviation"
    else:
        low, centre, high = np.percentile(X, (25, 50, 75), axis=0)
        spread, word = high - low, "interquartile range"
    still = constant | ~(spread > 0)
    centre[still], spread[still] = 0.0, 1.0 / power[still]
    X -= centre
    X /= spread
    left = [name for name, flag in zip(names, still, strict=True) if flag]
    if not left:
        return X, ()
    which = f"{capital(called(left[0]))} is" if len(left) == 1 else f"Columns {listed(left)} are"
    reason = "constant" if constant[still].all() else f"the {word} is 0"
    return X, (f"{which} not scaled: {reason}.",)
