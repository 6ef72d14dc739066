"""The inside of an Excel workbook, read with expat as a stream of rows.

Entry points: `sheets`, `rows`. Our own reader because of what uploads may hold: compiled readers allocate a sheet up to
its farthest cell, so that one cell in a far corner ends the whole process, which no Python code can catch. Here a row
costs what it holds, and nothing refers to anything outside the archive. Cost: about 3 microseconds a cell.
"""

from __future__ import annotations

import datetime
import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from xml.parsers import expat

from offgrid.datasets.limits import Limits, megabytes
from offgrid.errors import InputError

Read = Callable[[str], bytes | None]

_EPOCH = datetime.datetime(1899, 12, 30)  # noqa: DTZ001 - workbooks know no zones
_DATE_FORMATS = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))
_FORMAT_NOISE = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.|_.|\*.')
_LETTERS = re.compile(r"[A-Z]{1,3}")
_CHUNK = 1 << 16


class BrokenWorkbookError(Exception):
    """The workbook does not keep to the format."""


@dataclass(frozen=True)
class Sheet:
    """A sheet's title and the name of its part in the archive."""

    title: str
    part: str


def sheets(read: Read) -> list[Sheet]:
    """Return a workbook's sheets of cells in order; `read` gives a part's content, None where there is none."""
    root = _relations(read("_rels/.rels"), "")
    book = next((target for kind, target in root.values() if kind == "officeDocument"), "xl/workbook.xml")
    content = read(book)
    if content is None:
        raise BrokenWorkbookError(f"no part {book}")
    folder, file = posixpath.split(book)
    relations = _relations(read(f"{folder}/_rels/{file}.rels"), folder)
    found = []
    for name, attributes in _elements(content):
        if name == "sheet":
            key = next((value for key, value in attributes.items() if key.endswith(":id")), "")
            kind, target = relations.get(key, ("", ""))
            if kind == "worksheet":
                found.append(Sheet(attributes.get("name", ""), target))
    return found


def _relations(content: bytes | None, folder: str) -> dict[str, tuple[str, str]]:
    """Return the kind and the target of each relation by its id."""
    if content is None:
        return {}
    found = {}
    for name, attributes in _elements(content):
        if name == "Relationship":
            target = posixpath.normpath(posixpath.join("/", folder, attributes.get("Target", ""))).lstrip("/")
            found[attributes.get("Id", "")] = (attributes.get("Type", "").rsplit("/", 1)[-1], target)
    return found


def _elements(content: bytes) -> list[tuple[str, dict[str, str]]]:
    """Return the elements of a small part with their attributes, in order."""
    found: list[tuple[str, dict[str, str]]] = []
    parser = _parser()
    parser.StartElementHandler = lambda name, attributes: found.append((_local(name), attributes))
    _feed(parser, content, list)
    return found


def _parser() -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_declarations
    return parser


def _refuse_declarations(*_: Any) -> None:
    """No workbook declares entities; those that do mean to multiply them."""
    raise BrokenWorkbookError("a document type declaration")


def _feed(parser: expat.XMLParserType, content: bytes, pause: Callable[[], Any]) -> Any:
    for start in range(0, len(content), _CHUNK):
        parser.Parse(content[start : start + _CHUNK], False)
        pause()
    parser.Parse(b"", True)
    return pause()


def _local(name: str) -> str:
    return name.rsplit(":", 1)[-1]


def shared_texts(content: bytes | None) -> list[str]:
    """Return the texts that cells refer to by number, without their reading aids."""
    texts: list[str] = []
    pieces: list[str] = []
    inside: list[str] = []

    def start(name: str, _: dict[str, str]) -> None:
        inside.append(_local(name))

    def end(name: str) -> None:
        inside.pop()
        if _local(name) == "si":
            texts.append("".join(pieces).strip())
            pieces.clear()

    def data(text: str) -> None:
        if inside[-1] == "t" and "rPh" not in inside:
            pieces.append(text)

    if content is not None:
        parser = _parser()
        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, data
        _feed(parser, content, list)
    return texts


def date_styles(content: bytes | None) -> frozenset[str]:
    """Return the numbers of the cell styles that show a date or a time."""
    custom: dict[str, str] = {}
    styles: set[str] = set()
    within, count = False, 0
    for name, attributes in _elements(content or b"<none/>"):
        if name == "numFmt":
            custom[attributes.get("numFmtId", "")] = _FORMAT_NOISE.sub("", attributes.get("formatCode", "")).lower()
        elif name in ("cellXfs", "cellStyleXfs", "cellStyles", "dxfs"):
            within = name == "cellXfs"
        elif name == "xf" and within:
            number = attributes.get("numFmtId", "")
            own = custom.get(number)
            if re.search("[dmyhs]", own) if own is not None else number in map(str, _DATE_FORMATS):
                styles.add(str(count))
            count += 1
    return frozenset(styles)


def rows(content: bytes, texts: list[str], dates: frozenset[str], limits: Limits, name: str) -> Iterator[list[str]]:
    """Yield the rows of a sheet that hold anything, each as long as its last cell.

    Raises
    ------
    InputError
        If the sheet has more columns or rows than allowed, or too much text.
    """
    reader = _SheetReader(texts, dates, limits, name)
    parser = _parser()
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.data
    for begin in range(0, len(content), _CHUNK):
        parser.Parse(content[begin : begin + _CHUNK], False)
        yield from reader.take()
    parser.Parse(b"", True)
    yield from reader.take()


class _SheetReader:
    """Collects rows from expat's calls, two or three a cell: written for few steps in each."""

    def __init__(self, texts: list[str], dates: frozenset[str], limits: Limits, name: str) -> None:
        self.texts, self.dates, self.limits, self.name = texts, dates, limits, name
        self.done: list[list[str]] = []
        self.row: list[str] = []
        self.column = 0
        self.kind, self.style = "n", ""
        self.value: list[str] = []
        self.reading = self.in_cell = False
        self.n_rows = self.n_characters = 0
        self.most_characters = limits.unpacked_bytes
        self.places: dict[str, int] = {}

    def take(self) -> list[list[str]]:
        """Return the rows finished since the last call."""
        done, self.done = self.done, []
        return done

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take in the beginning of a row, a cell or its value."""
        if ":" in name:
            name = _local(name)
        if name == "c":
            reference = attributes.get("r")
            self.column = self._place(reference) if reference else self.column + 1
            self.kind, self.style = attributes.get("t", "n"), attributes.get("s", "")
            self.value, self.in_cell = [], True
        elif name in ("v", "t"):
            self.reading = self.in_cell
        elif name == "row":
            self.row, self.column = [], 0

    def data(self, text: str) -> None:
        """Take in a piece of a value."""
        if self.reading:
            self.value.append(text)

    def end(self, name: str) -> None:
        """Take in the end of a value, a cell or a row."""
        if ":" in name:
            name = _local(name)
        if name == "c":
            self.in_cell = False
            if self.value:
                self._set(self._text("".join(self.value).strip()))
        elif name in ("v", "t"):
            self.reading = False
        elif name == "row" and any(self.row):
            self.n_rows += 1
            if self.limits.rows is not None and self.n_rows > self.limits.rows + 1:  # one may have the names
                raise InputError(
                    f"The table has more than {self.limits.rows:,} rows, the most that is allowed: "
                    "take a sample of its rows."
                )
            self.done.append(self.row)
            self.row = []

    def _place(self, reference: str) -> int:
        """Return the column of a cell such as AB12: 28."""
        letters = reference.rstrip("0123456789")
        column = self.places.get(letters)
        if column is None:
            if not _LETTERS.fullmatch(letters):
                raise BrokenWorkbookError(f"the cell {reference[:20]!r}")
            column = 0
            for letter in letters:
                column = 26 * column + ord(letter) - 64
            self.places[letters] = column
        return column

    def _set(self, text: str) -> None:
        self.n_characters += len(text)
        if self.n_characters > self.most_characters:
            most = megabytes(self.most_characters)
            raise InputError(f"{self.name} has more than {most} of text in its cells: leave out its columns of text.")
        gap = self.column - len(self.row) - 1
        if gap:
            self._fill(gap)
        self.row.append(text)

    def _fill(self, gap: int) -> None:
        """Go to a cell that does not follow the one before."""
        if gap < 0:
            raise BrokenWorkbookError("cells out of order")
        self.limits.check_shape(0, self.column)
        self.row.extend([""] * gap)

    def _text(self, value: str) -> str:
        """A cell's value as text: numbers as the workbook has them, dates in ISO's order."""
        if self.kind == "n":
            return _date(value) if self.style in self.dates and value else value
        if self.kind == "s":
            try:
                return self.texts[int(value) if value.isdecimal() else len(self.texts)]
            except (ValueError, IndexError) as error:
                raise BrokenWorkbookError(f"the text {value[:20]!r}") from error
        if self.kind == "b":
            return {"0": "false", "1": "true"}.get(value, value)
        return value


def _date(serial: str) -> str:
    """Return the date that a number of days stands for, or the number where it is none."""
    try:
        return (_EPOCH + datetime.timedelta(days=float(serial))).isoformat(" ", "seconds")
    except (ValueError, OverflowError):
        return serial
