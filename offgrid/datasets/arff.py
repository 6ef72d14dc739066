"""Weka's ARFF: a head that declares the columns, then comma-separated rows, dense or sparse.

Entry point: `read_arff`. Our own reader: scipy's refuses strings, dates and sparse rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from offgrid.datasets.delimited import split_columns
from offgrid.datasets.limits import Limits
from offgrid.errors import InputError

_ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.+)""", re.IGNORECASE)
_TOKEN = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,]*)\s*(?:,|$)""")
_NUMBERS = ("numeric", "real", "integer")


@dataclass(frozen=True)
class Attribute:
    """A declared column: its name, its type's first word in lower case, and the first category of a nominal one."""

    name: str
    type: str
    first: str = "0"


def read_arff(text: str, name: str, limits: Limits) -> tuple[list[Attribute], list[Any]]:
    """Return the declared columns, and their cells as Arrow arrays of text."""
    head, _, body = _divide(text, name)
    attributes = [_attribute(line, name) for line in head if line.lower().startswith("@attribute")]
    if not attributes:
        raise InputError(f"{name} declares no columns: an ARFF file has a line @attribute for each of them.")
    lines = [line for raw in body.split("\n") if (line := raw.strip()) and not line.startswith("%")]
    limits.check_shape(len(lines), len(attributes))
    if not lines:
        raise InputError(f"{name} has no rows below @data: a table needs at least two.")
    if any(line.startswith("{") for line in lines):
        rows = [_sparse(line, attributes, i, name) for i, line in enumerate(lines, 1)]
        return attributes, split_columns(rows, len(attributes), name)
    if any(quote in body for quote in "'\""):
        return attributes, split_columns([_tokens(line) for line in lines], len(attributes), name)
    return attributes, split_columns([line.split(",") for line in lines], len(attributes), name)


def _divide(text: str, name: str) -> tuple[list[str], str, str]:
    """Return the head's lines, the line @data, and what follows it."""
    found = re.search(r"(?im)^[ \t]*@data[ \t]*$", text)
    if found is None:
        raise InputError(f"{name} has no line @data: an ARFF file has its rows below one.")
    head = [line.strip() for line in text[: found.start()].split("\n")]
    return head, found[0], text[found.end() :]


def _attribute(line: str, name: str) -> Attribute:
    match = _ATTRIBUTE.match(line)
    if match is None:
        raise InputError(f"{name} has a declaration that cannot be read: {line[:60]!r}; give a name and a type.")
    kind = match[2].strip()
    if kind.startswith("{"):
        return Attribute(_unquoted(match[1]), "nominal", next(iter(_tokens(kind.strip("{} \t"))), "0"))
    if kind.lower().startswith("relational"):
        raise InputError(f"{name} has tables within its rows (type relational), which cannot be used: flatten them.")
    return Attribute(_unquoted(match[1]), kind.split()[0].lower())


def _tokens(line: str) -> list[str]:
    """Split at commas outside quotes, and unquote."""
    fields, position = [], 0
    while position <= len(line):
        match = _TOKEN.match(line, position)
        if match is None:  # text after a closing quote: the field is taken as it stands
            end = line.find(",", position)
            end = len(line) if end < 0 else end
            fields.append(line[position:end].strip())
            position = end + 1
            continue
        fields.append(_unquoted(match[1].strip()))
        if not match[0].endswith(","):
            break
        position = match.end()
    return fields


def _unquoted(token: str) -> str:
    if len(token) >= 2 and token[0] == token[-1] and token[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", token[1:-1])
    return token


def _sparse(line: str, attributes: list[Attribute], number: int, name: str) -> list[str]:
    """Return a row {index value, …} in full: what is not named is 0, or a nominal column's first category."""
    row = [attribute.first if attribute.type == "nominal" else "0" for attribute in attributes]
    inside = line.strip("{} \t")
    for item in re.findall(r"""\d+\s+(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,]+)""", inside):
        index, value = item.split(None, 1)
        if int(index) >= len(row):
            raise InputError(f"Row {number:,} of {name} names column {int(index):,}, and the last is {len(row) - 1:,}.")
        row[int(index)] = _unquoted(value.strip())
    return row


def declared(attributes: list[Attribute]) -> list[bool]:
    """Return for each column whether the file declares it to hold categories."""
    return [attribute.type not in (*_NUMBERS, "string", "date") for attribute in attributes]
