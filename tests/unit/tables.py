"""Files of every format, made in memory, and what tests ask of a table read from them."""

from __future__ import annotations

import io
import re
import tracemalloc
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from offgrid.datasets import read_table
from offgrid.errors import InputError

MB = 1_000_000


def read(content, name="t.csv", **options):
    return read_table(content.encode() if isinstance(content, str) else content, name=name, **options)


def numbers(table):
    return np.column_stack([column.values for column in table.columns])


def said(table):
    return " ".join(table.report.sentences)


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def npz(**members):
    stream = io.BytesIO()
    np.savez_compressed(stream, **members)
    return stream.getvalue()


def parquet(columns, **options):
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, **options)
    return stream.getvalue()


def xlsx(*sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for i, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {i + 1}")
        for row in rows:
            sheet.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def header(shape, descr="<f8"):
    """An NPY header that promises a shape, with no data behind it."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def archive(members, compression=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as target:
        for name, content in members.items():
            target.writestr(name, content)
    return stream.getvalue()


def labelled(names, label_cells, n=20):
    rng = np.random.default_rng(0)
    rows = [[f"{rng.normal():.4f}" for _ in names[1:]] for _ in range(n)]
    cells = [[*row, label_cells(i)] for i, row in enumerate(rows)]
    return "\n".join(",".join(row) for row in [list(names), *cells])


def refusal(content, name, **options):
    """The message, after checking that it is one sentence for people."""
    with pytest.raises(InputError) as caught:
        read_table(content, name=name, **options)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    assert len(re.findall(r"[.!?] [A-Z]", message)) == 0
    assert 20 < len(message) < 300
    assert not re.search(r"Traceback|Error|Exception|0x[0-9a-f]{6}", message)
    return message


def peak(action):
    """Largest memory that Python and numpy held during an action."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
