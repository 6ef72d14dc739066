"""Parquet files, read with Arrow.

Entry point: `read_parquet`. The metadata are checked first; then batches are read and counted, texts as dictionaries,
so that one long text repeated in every row costs its length once.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from offgrid.datasets.limits import Limits
from offgrid.datasets.numbers import coded_column
from offgrid.datasets.table import Column, number_column
from offgrid.errors import InputError

_BATCH = 4_096
_THRIFT_STRING = 8 * 1024 * 1024
_THRIFT_CONTAINER = 1_000_000


def read_parquet(content: bytes, name: str, limits: Limits) -> tuple[list[Column], list[str]]:
    """Return the columns of a Parquet file, and notes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if content[-4:] == b"PARE" or content[:4] == b"PARE":
        raise InputError(f"{name} is encrypted: save it without encryption.")
    try:
        return _read(pa, pq, content, name, limits)
    except (InputError, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise InputError(
            f"{name} cannot be read as Parquet: it is damaged, or something else; save it again."
        ) from error


def _read(pa: Any, pq: Any, content: bytes, name: str, limits: Limits) -> tuple[list[Column], list[str]]:
    options = {"thrift_string_size_limit": _THRIFT_STRING, "thrift_container_size_limit": _THRIFT_CONTAINER}
    meta = pq.ParquetFile(pa.BufferReader(content), **options)
    schema = meta.schema_arrow
    limits.check_shape(meta.metadata.num_rows, len(schema))
    unpacked = sum(meta.metadata.row_group(i).total_byte_size for i in range(meta.metadata.num_row_groups))
    limits.check_unpacked(unpacked)
    limits.check_ratio(name, len(content), unpacked)
    texts = [field.name for field in schema if _is_text(pa, field.type)]
    usable = [field.name for field in schema if field.name in texts or _is_number(pa, field.type)]
    twice = next((column for column, count in Counter(schema.names).items() if count > 1), None)
    if twice is not None:
        raise InputError(f"{name} has two columns named {twice!r}: give every column a name of its own.")
    n_rows = int(meta.metadata.num_rows)
    file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts, **options)
    batches, seen = [], 0
    for batch in file.iter_batches(batch_size=_BATCH, columns=usable, use_threads=False):
        seen += batch.num_rows
        limits.check_shape(seen, len(schema))
        limits.check_unpacked(batch.nbytes)
        batches.append(batch)
    if usable and seen != n_rows:
        raise InputError(f"{name} is damaged: it says {n_rows:,} rows and has {seen:,}; save it again.")
    table = pa.Table.from_batches(batches) if batches else None
    columns = []
    for field in schema:
        if field.name in usable and table is not None:
            columns.append(_column(pa, field, table.column(field.name)))
        else:
            nothing = np.full(n_rows, -1, np.int32)
            columns.append(Column(field.name, "other", nothing, why=_why(pa, field.type), role="ignored"))
    return columns, []


def _value_type(pa: Any, kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text(pa: Any, kind: Any) -> bool:
    kind = _value_type(pa, kind)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_number(pa: Any, kind: Any) -> bool:
    kind = _value_type(pa, kind)
    return any(
        test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    )


def _why(pa: Any, kind: Any) -> str:
    if pa.types.is_temporal(kind):
        return "it holds dates or times"
    if pa.types.is_nested(kind):
        return "it holds lists or records"
    return f"its type {kind} holds no numbers"


def _column(pa: Any, field: Any, chunks: Any) -> Column:
    values = chunks.combine_chunks() if chunks.num_chunks != 1 else chunks.chunk(0)
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks)
    if _is_text(pa, field.type):
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        return coded_column(field.name, coded, why="it holds text")
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.uint8())
    return number_column(field.name, values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
