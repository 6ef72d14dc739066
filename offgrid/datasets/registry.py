"""The built-in data sets by name.

Entry points: `names`, `load`. Each is made once and then shared: its arrays cannot be written to.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from offgrid.datasets.generators import SHAPES
from offgrid.datasets.model import Dataset, Scaling, listed
from offgrid.errors import InputError


class _Words(NamedTuple):
    title: str
    description: str
    scaling: Scaling = "none"


_SHAPE_WORDS = {
    "aggregation": _Words("Aggregation", "Seven round groups of very different sizes, two pairs of which touch."),
    "compound": _Words("Compound", "Six groups: a ring around a core, a dense bend in a sparse field, two clouds."),
    "d31": _Words("D31", "Thirty-one Gaussian groups of 100 points each, close enough to overlap a little."),
    "flame": _Words("Flame", "A round group above a bowl that nearly touches it, and two points far off."),
    "jain": _Words("Jain", "Two crescents, one dense and one sparse, each reaching into the other."),
    "pathbased": _Words("Pathbased", "An open ring around two Gaussian groups."),
    "r15": _Words("R15", "Fifteen equal Gaussian groups: one in the middle, seven around it, seven far out."),
    "spiral": _Words("Spiral", "Three spiral arms, one within the other."),
}
_SKLEARN_WORDS = {
    "wine": _Words("Wine", "Thirteen chemical measurements of 178 Italian wines from three cultivars.", "unit"),
    "breast_cancer": _Words(
        "Breast cancer (WDBC)", "Thirty measurements of cell nuclei in 569 samples, benign or malignant.", "unit"
    ),
    "digits": _Words("Digits", "1,797 handwritten digits, 8 × 8 pixels each, all on one scale of grey.", "none"),
    "iris": _Words("Iris", "Four lengths in centimetres of 150 iris flowers from three species.", "none"),
}


def names() -> tuple[str, ...]:
    """Return the names of the built-in data sets."""
    return (*_SHAPE_WORDS, *_SKLEARN_WORDS)


@cache
def load(name: str) -> Dataset:
    """Return a built-in data set.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    if name in _SHAPE_WORDS:
        return _shape(name)
    if name in _SKLEARN_WORDS:
        return _sklearn(name)
    raise InputError(f"There is no data set {name!r}: choose from {listed(names(), len(names()))}.")


def _shape(name: str) -> Dataset:
    X, y = SHAPES[name]()
    words = _SHAPE_WORDS[name]
    classes = tuple(str(i + 1) for i in range(int(y.max()) + 1))
    return _dataset(name, words, X, y, ("x1", "x2"), classes)


def _sklearn(name: str) -> Dataset:
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{name}")()
    features = tuple(_plain(feature) for feature in bunch.feature_names)
    classes = tuple(_plain(target) for target in bunch.target_names)
    return _dataset(
        name, _SKLEARN_WORDS[name], bunch.data, bunch.target, features, classes, (8, 8) if name == "digits" else None
    )


def _plain(name: Any) -> str:
    return str(name).replace("_", " ").removesuffix(" (cm)")


def _dataset(
    name: str,
    words: _Words,
    X: Any,
    y: Any,
    features: tuple[str, ...],
    classes: tuple[str, ...],
    image_shape: tuple[int, int] | None = None,
) -> Dataset:
    X, y = np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(y, dtype=np.int64)
    for array in (X, y):
        array.flags.writeable = False
    return Dataset(name, words.title, X, y, features, classes, words.description, words.scaling, image_shape)
