"""Reading in a process with limits: the same tables and the same sentences, no secrets, and an end to everything."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from offgrid.datasets import read_table
from offgrid.errors import InputError
from services import parsing
from services.parsing import Reader, _Started, memory_for, seconds_for

CSV = "id,a,b,kind,when,label\n" + "".join(
    f"{i},{i / 7 if i % 5 else ''},{'inf' if i == 3 else i * i},{'uvw'[i % 3]},2020-01-0{i % 9 + 1},{'pq'[i % 2]}\n"
    for i in range(20)
)
LIMITS = {"max_rows": 20_000, "max_bytes": 5_000_000}


@pytest.fixture(scope="module")
def reader():
    made = Reader()
    yield made
    made.close()


@pytest.fixture
def make_reader():
    made = []

    def make(**options):
        made.append(Reader(**options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def slow_arff():
    """Quoted numbers are read one by one, in Python: some two seconds of work."""
    head = "@relation r\n" + "".join(f"@attribute a{i} numeric\n" for i in range(100)) + "@data\n"
    return (head + (",".join(["'7'"] * 100) + "\n") * 10_000).encode()


def assert_same(one, other):
    assert (one.name, one.n_rows, one.report, one.scaling, one.missing, one.image_shape) == (
        other.name, other.n_rows, other.report, other.scaling, other.missing, other.image_shape
    )  # fmt: skip
    for mine, yours in zip(one.columns, other.columns, strict=True):
        assert np.array_equal(mine.values, yours.values, equal_nan=mine.kind == "number")
        assert mine.values.dtype == yours.values.dtype
        for field in ("name", "kind", "categories", "declared", "n_infinite", "why", "role"):
            assert getattr(mine, field) == getattr(yours, field)
    assert list(one.cells()) == list(other.cells())


def test_a_table_is_the_same_as_read_here(reader):
    assert_same(reader(CSV.encode(), name="a.csv", **LIMITS), read_table(CSV.encode(), name="a.csv"))


def test_pictures_and_tables_without_text_are_the_same_too(reader):
    stream = io.BytesIO()
    np.savez(stream, X=np.arange(640, dtype=np.uint8).reshape(10, 64))
    content = stream.getvalue()
    assert_same(reader(content, name="a.npz", **LIMITS), read_table(content, name="a.npz"))


@pytest.mark.parametrize(
    ("name", "content"), [("a.csv", b"a,b\nu,v\nw,x\n"), ("a.npy", b"\x93NUMPY..."), ("a.exe", b"MZ"), ("a.csv", b"")]
)
def test_a_refusal_has_the_same_words(reader, name, content):
    with pytest.raises(InputError) as here:
        read_table(content, name=name)
    with pytest.raises(InputError) as there:
        reader(content, name=name, **LIMITS)
    assert str(there.value) == str(here.value)


def test_the_process_knows_no_secret(monkeypatch):
    monkeypatch.setenv("OFFGRID_SECRET_KEY", "open-sesame")
    monkeypatch.setenv("OFFGRID_REDIS_URL", "redis://:open-sesame@host")
    started = _Started()
    try:
        environment = Path(f"/proc/{started._process.pid}/environ")
        if not environment.exists():
            pytest.skip("this system does not show a process's environment")
        variables = next(filter(None, iter(environment.read_bytes, None)))  # none yet while the program is loaded
        assert b"PATH=" in variables
        assert b"open-sesame" not in variables
    finally:
        started.end()


def test_a_file_that_takes_too_much_time_is_given_up(make_reader):
    reader = make_reader(seconds=1)
    with pytest.raises(InputError, match="takes longer to read than one file may"):
        reader(slow_arff(), name="a.arff", **LIMITS)
    assert reader(b"a,b\n1,2\n3,5\n", name="a.csv", **LIMITS).n_rows == 2


def test_a_file_that_waits_too_long_for_the_processor_is_given_up(make_reader, monkeypatch):
    ended = []
    monkeypatch.setattr(_Started, "end", lambda self, end=_Started.end: (end(self), ended.append(self._process.poll())))
    with pytest.raises(InputError, match="takes longer"):
        make_reader(patience=0.01)(slow_arff(), name="a.arff", **LIMITS)
    assert ended == [-9]


def test_a_file_that_takes_too_much_memory_is_given_up(make_reader):
    content = b"7,7,7,7,7,7,7,7,7,7\n" * 250_000  # 5 MB whose 2.5 million numbers take 20 MB, several times
    limits = {**LIMITS, "max_rows": None}
    assert make_reader()(content, name="a.csv", **limits).n_rows == 250_000
    with pytest.raises(InputError, match=r"takes more memory|cannot be read"):
        make_reader(memory=300_000_000)(content, name="a.csv", **limits)


def _told(started):
    started.answer.seek(0)
    return started.answer.read()


def test_larger_files_may_take_more():
    assert seconds_for(50_000_000) == 10
    assert seconds_for(500_000_000) == 55
    assert memory_for(100_000_000) > memory_for(50_000_000)


def test_a_process_that_ended_while_it_waited_is_replaced(make_reader):
    reader = make_reader()
    reader.prepare()
    reader._waiting._process.kill()
    reader._waiting._process.wait()
    assert reader(CSV.encode(), name="a.csv", **LIMITS).n_rows == 20
    assert not reader._waiting.ended


def test_the_next_process_waits_once_a_file_is_read_and_is_ended_at_the_close(make_reader):
    reader = make_reader()
    reader(CSV.encode(), name="a.csv", **LIMITS)
    waiting = reader._waiting
    reader.prepare()
    assert reader._waiting is waiting
    reader.close()
    assert waiting.ended


def test_a_process_whose_server_ends_ends_too():
    started = _Started()
    started._process.stdin.close()
    assert started._process.wait(60) == 0
    started.end()


def test_half_a_file_is_not_read():
    started = _Started()
    request = {"name": "a.csv", "max_rows": 9, "max_bytes": 999, "size": 99, "seconds": 9, "log_level": "ERROR"}
    request |= {"memory": 10**9, "output": 10**6}
    assert started.ask(json.dumps(request).encode() + b"\na,b\n1,2\n3,4\n", 60) == 0
    assert _told(started) == b""
    started.end()


def test_a_file_without_a_turn_is_told_so(make_reader):
    reader = make_reader(at_once=1, patience=0.01)
    reader._turns.acquire()
    with pytest.raises(InputError, match="is reading other files"):
        reader(CSV.encode(), name="a.csv", **LIMITS)


def test_too_large_a_file_is_not_even_sent(make_reader, monkeypatch):
    monkeypatch.setattr(parsing, "_Started", lambda: pytest.fail("a process was started"))
    with pytest.raises(InputError, match="are allowed"):
        make_reader()(bytes(5_000_001), name="a.csv", **LIMITS)


# A process that was taken over answers as it likes ------------------------------------------------------------------


def honest():
    table = read_table(CSV.encode(), name="a.csv")
    numbers, codes = parsing.table_arrays(table)
    cells = table.given.packed
    sizes = {"n_rows": 20, "numbers": len(numbers), "codes": len(codes), "cells": len(cells)}
    return {"table": parsing.table_values(table), **sizes}, numbers.tobytes(), codes.tobytes(), cells


def answered(monkeypatch, reader, code, *parts):
    def ask(self, request, patience):
        for part in parts:
            self.answer.write(part)
        self.answer.flush()
        return code

    monkeypatch.setattr(_Started, "ask", ask)
    return reader(CSV.encode(), name="a.csv", **LIMITS)


def lied(change):
    head, *arrays = honest()
    head = json.loads(json.dumps(head))
    change(head)
    return json.dumps(head).encode() + b"\n", *arrays


def test_an_honest_answer_is_taken(monkeypatch, reader):
    table = answered(monkeypatch, reader, 0, *lied(lambda head: None))
    assert_same(table, read_table(CSV.encode(), name="a.csv"))


@pytest.mark.parametrize(
    "change",
    [
        lambda head: head.update(n_rows=10**12),
        lambda head: head.update(n_rows=-20),
        lambda head: head.update(n_rows="many"),
        lambda head: head.update(n_rows=None),
        lambda head: head.update(numbers=head["numbers"] + 1),
        lambda head: head.update(codes=-1),
        lambda head: head.update(cells=-1),
        lambda head: head.update(cells=head["cells"] + 1),
        lambda head: head["table"].update(given=None),
        lambda head: head["table"]["given"].update(size=10**12),
        lambda head: head["table"]["given"].update(size=0),
        lambda head: head["table"]["given"].update(separator="\n"),
        lambda head: head.update(table=[]),
        lambda head: head["table"].update(columns=[]),
        lambda head: head["table"].update(n_rows=19),
        lambda head: head["table"].update(scaling="eval"),
        lambda head: head["table"].update(image_shape=[1]),
        lambda head: head["table"].update(report={}),
        lambda head: head["table"]["columns"][0].update(kind="pickle"),
        lambda head: head["table"]["columns"][0].update(name={"type": "Script"}),
        lambda head: head["table"]["columns"][3].update(categories=["one"]),
        lambda head: head["table"]["columns"].reverse(),
    ],
)
def test_a_lie_is_found_out(monkeypatch, reader, change):
    with pytest.raises(InputError, match=r"cannot be read|are allowed|is allowed"):
        answered(monkeypatch, reader, 0, *lied(change))


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        (0, [b""]),
        (0, [b"\x80\x04\x95"]),
        (0, [b"[1]\n"]),
        (0, [b"[" * 100_000]),
        (0, [b"null\n"]),
        (0, [lied(lambda head: None)[0]]),
        (-11, [b""]),
        (-6, lied(lambda head: None)),
        (3, [b""]),
    ],
)
def test_no_answer_at_all_is_a_sentence(monkeypatch, reader, code, parts):
    with pytest.raises(InputError, match="cannot be read"):
        answered(monkeypatch, reader, code, *parts)


def test_no_process_stays_behind(make_reader):
    reader = make_reader()
    reader(CSV.encode(), name="a.csv", **LIMITS)
    last = reader._waiting._process.pid
    reader.close()
    with pytest.raises(ProcessLookupError):
        os.kill(last, 0)
