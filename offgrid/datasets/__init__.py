"""Data sets: the built-in ones and people's files.

Entry points: `names`, `load` (built-in data sets), `read_table` (a file to a `Table`), `tight_example` (Theorem 1's
example as distances). scikit-learn and Arrow are imported when first needed, not with this module.
"""

from __future__ import annotations

from offgrid.datasets.generators import tight_example
from offgrid.datasets.model import Dataset, Points
from offgrid.datasets.reading import read_table
from offgrid.datasets.registry import load, names
from offgrid.datasets.table import Column, Table, TableReport

__all__ = ["Column", "Dataset", "Points", "Table", "TableReport", "load", "names", "read_table", "tight_example"]
