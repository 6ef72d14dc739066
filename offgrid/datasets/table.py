"""A file once read: its columns, a report in plain words, and `Table.prepare`.

Memory: 8 bytes for each number, 4 for each text cell plus the distinct texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from offgrid.datasets.given import Given
from offgrid.datasets.model import MISSING, Points, Scaling, called, listed, pick_columns, scaled
from offgrid.errors import InputError

Kind = Literal["number", "text", "other"]
Role = Literal["feature", "label", "ignored"]


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
        Unique in its table. Plain text from the file, never markup: it may hold ``<script>``.
    kind : {"number", "text", "other"}
        ``"other"`` holds nothing usable (dates, lists): only its name and `why` are kept.
    values : ndarray, shape (n_rows,)
        float64 with NaN for missing (number), int32 indices into `categories` with -1 for missing (text), or int32
        all -1 (other).
    categories : tuple of str
        Distinct texts, sorted; empty for numbers.
    declared : bool
        The file itself says that the column holds categories (ARFF).
    n_infinite : int
        Infinite values, which count as missing and are NaN in `values`.
    why : str
        Why the column cannot be a feature, in words; empty where it can.
    role : {"feature", "label", "ignored"}
        What the column is used for unless a person says otherwise.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    categories: tuple[str, ...] = ()
    declared: bool = False
    n_infinite: int = 0
    why: str = ""
    role: Role = "feature"

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Mask of the rows without a value."""
        return np.isnan(self.values) if self.kind == "number" else self.values < 0

    @property
    def n_missing(self) -> int:
        """Number of rows without a value, infinite ones among them."""
        return int(self.missing.sum())

    @cached_property
    def distinct(self) -> NDArray[Any]:
        """Distinct values present, sorted: numbers, or indices into `categories`."""
        return np.unique(self.values[~self.missing])

    @property
    def constant(self) -> bool:
        """True where all values present are the same."""
        return len(self.distinct) == 1

    @property
    def integers(self) -> bool:
        """True for a column of whole numbers."""
        return self.kind == "number" and bool(np.all(self.distinct == np.floor(self.distinct)))

    @property
    def tells_classes(self) -> bool:
        """True for words that recur, and whole numbers that recur as often as not; other numbers measure something."""
        present = len(self.values) - self.n_missing
        if self.kind == "other" or not 2 <= len(self.distinct) < present:
            return False
        return self.kind != "number" or (self.integers and 2 * len(self.distinct) <= present)

    def cells(self) -> list[Any]:
        """Return all values, numbers as such, "" where one is missing."""
        if self.kind != "number":
            return [self.categories[code] if code >= 0 else "" for code in self.values.tolist()]
        whole = self.integers and bool(np.all(np.abs(self.distinct) < 1e15))
        return [
            "" if gone else int(value) if whole else value
            for value, gone in zip(self.values.tolist(), self.missing.tolist(), strict=True)
        ]

    def cell(self, row: int) -> str:
        """Return one value as text, empty where it is missing."""
        if self.missing[row]:
            return ""
        value = self.values[row]
        return number_text(value) if self.kind == "number" else self.categories[value]


def number_column(name: str, values: NDArray[Any], *, declared: bool = False) -> Column:
    """Return a column of numbers, infinite ones made missing."""
    numbers = np.array(values, dtype=np.float64)
    infinite = np.isinf(numbers)
    numbers[~np.isfinite(numbers)] = np.nan  # one kind of NaN, whatever the file had
    empty = np.isnan(numbers).all()
    why = "" if not empty else ("it has no finite value" if infinite.any() else "it is empty")
    return Column(name, "number", numbers, declared=declared, n_infinite=int(infinite.sum()), why=why)


@dataclass(frozen=True)
class TableReport:
    """What was found in a file, as numbers and as sentences.

    Attributes
    ----------
    n_rows, n_columns : int
        Size of the table as read, header not counted.
    n_features : int
        Columns used as features unless a person chooses.
    n_missing : int
        Missing values in the features, infinite ones included.
    n_infinite : int
        Infinite values in the features.
    n_incomplete : int
        Rows with a missing value in a feature or in the label.
    n_duplicates : int
        Rows whose features equal an earlier row's.
    constant : tuple of str
        Features with one value only; they are kept.
    ignored : tuple of (str, str)
        Columns not used, each with the reason.
    label : str or None
        Label column recognised.
    sentences : tuple of str
        All of it in plain words, in the order to show.
    """

    n_rows: int
    n_columns: int
    n_features: int
    n_missing: int
    n_infinite: int
    n_incomplete: int
    n_duplicates: int
    constant: tuple[str, ...]
    ignored: tuple[tuple[str, str], ...]
    label: str | None
    sentences: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TableReport:
        """Rebuild from `to_dict`, tuples being lists after JSON."""
        plain = dict(values)
        plain["constant"] = tuple(plain["constant"])
        plain["ignored"] = tuple((name, why) for name, why in plain["ignored"])
        plain["sentences"] = tuple(plain["sentences"])
        return cls(**plain)


@dataclass(frozen=True, eq=False)
class Table:
    """A file as read.

    Attributes
    ----------
    name : str
        The file's name.
    columns : tuple of Column
    n_rows : int
    report : TableReport
    scaling : {"unit", ...}
        Scaling proposed.
    missing : {"drop", "median"}
        Treatment of missing values proposed: dropping, unless that would cost more than a fifth of the rows.
    image_shape : tuple of int or None
        Height and width where rows are pictures.
    given : Given or None
        The cells in the file's own words, where it has any.
    """

    name: str
    columns: tuple[Column, ...]
    n_rows: int
    report: TableReport
    scaling: Scaling = "unit"
    missing: str = "drop"
    image_shape: tuple[int, int] | None = field(default=None)
    given: Given | None = None

    def __iter__(self) -> Iterator[Any]:
        """Yield `X` and `y` of the default preparation."""
        return iter((self.X, self.y))

    @property
    def label(self) -> str | None:
        """Name of the label column recognised, or None."""
        return self.report.label

    @property
    def k(self) -> int | None:
        """Number of clusters proposed: the number of classes, None without labels."""
        return None if self.label is None else len(self.column(self.label).distinct)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns used as features unless a person chooses."""
        return tuple(column.name for column in self.columns if column.role == "feature")

    @property
    def numeric(self) -> tuple[str, ...]:
        """Names of the columns that can be features."""
        return tuple(column.name for column in self.columns if column.kind == "number" and len(column.distinct))

    @property
    def labelling(self) -> tuple[str, ...]:
        """Names of the columns worth offering as labels, though any with two classes or more can be."""
        return tuple(column.name for column in self.columns if column.tells_classes)

    def column(self, name: str) -> Column:
        """Return a column by name."""
        found = self._by_name.get(name)
        if found is None:
            raise InputError(f"There is no column {name!r}: choose from {listed(list(self._by_name))}.")
        return found

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def head(self, n: int = 8) -> tuple[tuple[str, ...], ...]:
        """Return the first rows as text, for a preview; missing values are empty."""
        return tuple(tuple(column.cell(row) for column in self.columns) for row in range(min(n, self.n_rows)))

    def cells(self) -> Iterator[Sequence[Any]]:
        """Yield the names of all columns, then each row, in the file's own words where they are kept.

        Where they are not, numbers are numbers, and columns that hold nothing usable are left out.
        """
        if self.given is not None:
            yield from self.given.cells()
            return
        columns = [column for column in self.columns if column.kind != "other"]
        yield [column.name for column in columns]
        yield from zip(*(column.cells() for column in columns), strict=True)

    @cached_property
    def _default(self) -> Points:
        return self.prepare(missing=self.missing)

    @property
    def X(self) -> NDArray[np.float64]:  # noqa: N802 - the field's name for it
        """Features of the default preparation, unscaled."""
        return self._default.X

    @property
    def y(self) -> NDArray[np.int64] | None:
        """Labels of the default preparation."""
        return self._default.y

    def prepare(
        self,
        *,
        label: str | None = "auto",
        columns: Sequence[str] | None = None,
        missing: str = "drop",
        scaling: str = "none",
    ) -> Points:
        """Return the points of a search.

        Parameters
        ----------
        label : str or None
            Name of the label column, ``"auto"`` for the one recognised, None for none. A column that is named
            "auto" is reached through recognition only.
        columns : sequence of str or None
            Features, in this order; None for `features` (less the label column).
        missing : {"drop", "median"}
            Drop rows with a missing feature, or fill with the column's median. Rows without a class are dropped
            either way.
        scaling : {"none", "unit", "robust"}
            Nothing; divide by the standard deviation (ddof 0); subtract the median and divide by the interquartile
            range. Constant columns are left alone. Statistics are those of the rows kept.

        Raises
        ------
        InputError
            If a value is not allowed, or fewer than two rows would be left.
        """
        if missing not in MISSING:
            raise InputError(f"The treatment of missing values {missing!r} is not known: choose drop or median.")
        names, labels = self._roles(label, columns)
        raw = np.column_stack([self.column(name).values for name in names])
        keep, notes = self._kept(raw, labels, missing)
        X = raw[keep]
        if missing == "median":
            X, filled = _filled(X)
            notes += filled
        X, unscaled = scaled(X, scaling, names)
        y, class_names, dropped = _classes(labels, keep, strict=label != "auto")
        return Points(
            title=self.name,
            X=X,
            y=y,
            feature_names=names,
            class_names=class_names,
            rows=np.flatnonzero(keep).astype(np.int64),
            row_names=self._row_names(keep),
            notes=(*notes, *unscaled, *dropped),
            image_shape=self.image_shape if names == self.features else None,
            n_given=self.n_rows,
        )

    def _roles(self, label: str | None, columns: Sequence[str] | None) -> tuple[tuple[str, ...], Column | None]:
        """Return the features' names and the label column."""
        proposed = self.label if label == "auto" else label
        if columns is None:
            names = tuple(name for name in self.features if name != proposed)
            if not names:
                raise InputError("No column of numbers is left beside the labels: a search needs at least one.")
        else:
            everything = [column.name for column in self.columns]
            names = tuple(everything[i] for i in pick_columns(everything, columns))
        for name in names:
            column = self.column(name)
            if column.kind != "number":
                raise InputError(f"The column {name!r} cannot be a feature: {column.why}; choose columns of numbers.")
            if not len(column.distinct):
                raise InputError(f"The column {name!r} cannot be a feature: it has no values; choose another.")
        if proposed in names and proposed is not None:
            if label != "auto":
                raise InputError(f"The column {label!r} is chosen as label and as feature: choose one of the two.")
            proposed = None
        return names, None if proposed is None else self.column(proposed)

    def _row_names(self, keep: NDArray[np.bool_]) -> tuple[str, ...]:
        """Return the rows' values in the first column of text that has another one in every row, () without one."""
        for column in self.columns:
            if column.kind == "text" and len(column.distinct) == self.n_rows:
                return tuple(column.categories[code] for code in column.values[keep].tolist())
        return ()

    def _kept(
        self, raw: NDArray[np.float64], labels: Column | None, missing: str
    ) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
        """Return the mask of the rows kept, and notes on the others."""
        empty = np.isnan(raw)
        # Nothing can be filled in for a row without any value, or for a missing class.
        lost = empty.any(axis=1) if missing == "drop" else empty.all(axis=1)
        unlabelled = labels.missing & ~lost if labels is not None else np.zeros(self.n_rows, dtype=bool)
        keep = ~(lost | unlabelled)
        notes = []
        if lost.any():
            what = "with missing values" if missing == "drop" else "without any value"
            notes.append(f"{counted(int(lost.sum()), 'row')} {what} dropped.")
        if unlabelled.any():
            notes.append(f"{counted(int(unlabelled.sum()), 'row')} without a class dropped.")
        if keep.sum() < 2:
            fill = missing == "drop" and (~empty.all(axis=1) & ~unlabelled).sum() > 1
            remedy = "fill with the median instead" if fill else "choose other columns"
            left = counted(int(keep.sum()), "row")
            raise InputError(f"Dropping rows with missing values leaves {left} of {self.n_rows:,}: {remedy}.")
        return keep, tuple(notes)


def _filled(X: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Fill missing values with their column's median; columns without any value become 0."""
    empty = np.isnan(X)
    if not empty.any():
        return X, ()
    for j in np.flatnonzero(empty.any(axis=0)):
        present = X[~empty[:, j], j]
        X[empty[:, j], j] = np.median(present) if len(present) else 0.0
    return X, (f"{counted(int(empty.sum()), 'missing value')} filled with the column's median.",)


def _classes(
    labels: Column | None, keep: NDArray[np.bool_], *, strict: bool
) -> tuple[NDArray[np.int64] | None, tuple[str, ...], tuple[str, ...]]:
    """Return y, the class names, and notes; a label column chosen by a person must make classes."""
    if labels is None:
        return None, (), ()
    values = labels.values[keep]
    trouble = _label_trouble(labels, values)
    if trouble and strict:
        raise InputError(f"The column {labels.name!r} cannot be the labels: {trouble}; choose another, or none.")
    if trouble:
        return None, (), (f"The labels in {called(labels.name)} are not used: {trouble}.",)
    present, y = np.unique(values, return_inverse=True)
    texts = (number_text(v) for v in present) if labels.kind == "number" else (labels.categories[v] for v in present)
    return y.astype(np.int64), tuple(texts), ()


def _label_trouble(column: Column, values: NDArray[Any]) -> str:
    """Say why values make no classes, empty if they do."""
    if column.kind == "other":
        return column.why
    n_classes = len(np.unique(values))
    if n_classes < 2:
        return "it has one value only" if n_classes else "it has no values"
    if n_classes == len(values):
        return f"each of its {len(values):,} values is different"
    return ""


def number_text(value: float) -> str:
    """Return a number as short text that reads back equal: whole numbers without a point."""
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def counted(n: int, noun: str) -> str:
    """Return "1 row" or "1,204 rows"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
