"""A table in the words of its file: what reading makes numbers of, kept to be given back as it came.

Entry point: `Given`. Memory: the cells' text, compressed; `cells` unpacks all of it at once.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

SEPARATORS = (",", ";", "\t", "|")
# No file that is read as text holds these signs: cells need no quotes, and may be of any length.
_CELL, _ROW = "\x1f", "\x1e"


@dataclass(frozen=True, eq=False)
class Given:
    """The cells of a file.

    Attributes
    ----------
    separator : str
        The file's, a comma where it has none that spreadsheets know.
    size : int
        Bytes that the cells unpack to.
    packed : bytes
        The names and all rows, compressed.
    marked : bool
        Whether UTF-8 needs its byte-order mark to be read where the file was: it had one, or was no UTF-8.
    """

    separator: str
    size: int
    packed: bytes
    marked: bool = False

    @classmethod
    def of(
        cls, names: Sequence[str], columns: Sequence[Any], separator: str, most: int, *, marked: bool = False
    ) -> Given | None:
        """Pack the columns of a file, or return None where they are more than `most` bytes, or hold separating signs.

        Parameters
        ----------
        names : sequence of str
        columns : sequence of pyarrow string arrays
        separator : str
            What the file has between its cells, whatever that is.
        most : int
        marked : bool
        """
        import pyarrow.compute as pc

        if sum(column.nbytes for column in columns) > most:
            return None
        texts = [pc.fill_null(column, "") for column in columns]
        rows = pc.binary_join_element_wise(*texts, _CELL).to_pylist()
        content = _ROW.join([_CELL.join(names), *rows])
        if content.count(_CELL) != (len(names) - 1) * (len(rows) + 1) or content.count(_ROW) != len(rows):
            return None
        text = content.encode("utf-8", "replace")
        return cls(separator if separator in SEPARATORS else ",", len(text), zlib.compress(text, 1), marked)

    def cells(self) -> Iterator[list[str]]:
        """Yield the names, then the cells of each row."""
        # A bound on what it unpacks to: the packed bytes may come from a process that is not trusted.
        text = zlib.decompressobj().decompress(self.packed, self.size).decode("utf-8")
        return (row.split(_CELL) for row in text.split(_ROW))
