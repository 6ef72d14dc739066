"""Bad files: each gives InputError with one clear sentence, before memory is spent, and nothing else ever comes out."""

from __future__ import annotations

import io
import os
import pickle
import re
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offgrid.datasets import read_table
from offgrid.datasets.table import Table
from offgrid.errors import InputError
from tests.unit.tables import MB, archive, header, npy, npz, parquet, peak, refusal, xlsx

PROSE = (
    b"It was the best of times, it was the worst of times.\nIt was the age of wisdom\n\n"
    b"it was the age of foolishness, it was the epoch of belief, it was\nthe epoch of incredulity.\n"
)


class Trap:
    """Says so when it is unpickled."""

    sprung = False

    def __reduce__(self):
        return (_spring, ())


def _spring():
    Trap.sprung = True


CASES = [
    # name, content, words of the sentence
    ("empty.csv", b"", "is empty"),
    ("blank.csv", b"  \n \n", "is empty"),
    ("blank.xlsx", b"", "is empty"),
    ("bytes.csv", np.random.default_rng(0).bytes(4096), "is not text"),
    ("controls.csv", b"a,b\n1,\x012\n3,4\n", "is not text"),
    ("half.csv", "a,b\n1,2\n3,4\n".encode("utf-16")[:-1], "it says UTF-16 and is not"),
    ("mark.csv", b"\xef\xbb\xbfa,b\n1,\xff\n", "it says UTF-8 and is not"),
    ("undefined.csv", b"a,b\n1,\x81\n2,3\n", "is not text"),
    ("prose.txt", PROSE, "is text, not a table"),
    ("words.txt", b"apple\nbanana\ncherry\n", "is text, not a table"),
    ("ragged.csv", b"a,b,c\n1,2,3\n4,5,6\n7,8\n", "Line 4 of ragged.csv has 2 fields where the others have 3"),
    ("ragged.csv", b"a,b,c\n1,2,3\n\n4,5,6,7\n", "Line 4 of ragged.csv has 4 fields where the others have 3"),
    ("ragged.csv", b'a,b\n"1\n1",2\n5,6\n7\n8,9\n', "Line 5 of ragged.csv has 1 field where the others have 2"),
    ("ragged.txt", b"1 2 3\n4 5 6\n7 8\n9 1 2\n", "Line 3 of ragged.txt has 2 fields where the others have 3"),
    ("ragged.csv", b"1,2\n3,4,5\n6,7,8\n", "Line 1 of ragged.csv has 2 fields where the others have 3"),
    ("ragged.csv", b"a;b\n1;2\n3;4;5\n6;7\n", "separated by semicolons"),
    ("quote.csv", b'a,b\n1,2\n1,"2\n3,4\n5,6\n', "a quotation mark that is never closed"),
    ("quote.csv", b'a,"b\n' + b"1,2\n" * 100_000, "a quotation mark that is never closed"),
    ("text.csv", b"a,b\nu,x\nv,y\nw,z\n", r"no column of numbers among its 2 columns \(a: it holds text\)"),
    ("labels.csv", b"a,label\nu,1\nv,2\nw,1\n", r"no column of numbers beside the labels \(label\)"),
    ("nan.csv", b"a,b\nnan,NA\n?,\nnull,nan\n", r"no column of numbers among its 2 columns \(a: it is empty\)"),
    ("inf.csv", b"a,b\ninf,-inf\nInfinity,1e999\n", "it has no finite value"),
    ("nan.npy", npy(np.full((3, 2), np.nan)), "it is empty"),
    ("inf.npy", npy(np.full((3, 2), np.inf)), "it has no finite value"),
    ("one.csv", b"a,b\n1,2\n", "has 1 row of data: at least two"),
    ("one.csv", b"1,2", "has 1 row of data: at least two"),
    ("names.csv", b"a,b\n", "has 0 rows of data"),
    ("one.npy", npy(np.ones((1, 3))), "has 1 row of data"),
    ("big.csv", bytes(60 * MB), "The file has 60 MB, and 50 MB are allowed"),
    ("wide.csv", b"\n".join([b",".join([b"1"] * 5000)] * 3), "has 5,000 columns, and 4,096 are allowed"),
    ("wide.npy", header((2, 1_000_000)), "has 1,000,000 columns, and 4,096 are allowed"),
    ("many.npy", header((10_000_000, 1000)), "cells are allowed"),
    ("pickle.npy", npy(np.array([1, {}], dtype=object)), "holds Python objects"),
    ("pickle.npz", npz(X=np.array([[1, None]], dtype=object)), "holds Python objects"),
    ("pickle.npz", npz(X=np.ones((3, 2)), y=np.array(["u", None, "u"], dtype=object)), "save it as y.astype"),
    ("complex.npy", npy(np.ones((3, 2), dtype=complex)), "holds complex numbers"),
    ("text.npy", npy(np.array([["a", "b"], ["c", "d"]])), "not numbers"),
    ("dates.npy", npy(np.array([["2020-01-01"]], dtype="M8[D]")), "not numbers"),
    ("records.npy", npy(np.array([(1, 2.0)], dtype=[("a", int), ("b", float)])), "holds records"),
    ("line.npy", npy(np.arange(5.0)), "has 1 dimension, 5: 2 are needed"),
    ("cube.npy", npy(np.ones((5, 3, 2))), r"has 3 dimensions, 5 × 3 × 2: 2 are needed; reshape it to \(5, 6\)"),
    ("hyper.npy", npy(np.ones((2, 2, 2, 2))), "has 4 dimensions"),
    ("point.npy", npy(np.float64(3)), "a single value"),
    ("none.npy", npy(np.empty((0, 3))), "is empty"),
    ("cut.npy", npy(np.ones((50, 2)))[:300], "is shorter than its header says"),
    ("junk.npy", b"hello there, this is no array", "its header cannot be read"),
    ("negative.npy", header((-1, 2)), "negative length"),
    ("length.npz", npz(X=np.ones((4, 2)), y=np.arange(3)), "has 3 values for 4 rows"),
    ("onehot.npz", npz(X=np.ones((4, 2)), y=np.eye(4)), "labels are one value for each row"),
    ("unclear.npz", npz(a=np.ones((4, 2)), b=np.ones((4, 2))), "the arrays a and b, and which one has the features"),
    ("sparse.npz", npz(indices=[1], indptr=[0, 1], data=[1.0], shape=[1, 2], format="csr"), "sparse matrix"),
    ("other.npz", archive({"readme.txt": "hello"}), "holds no arrays"),
    ("junk.npz", b"PK\x03\x04 and then junk", "cannot be opened as an archive"),
    ("bzip.npz", archive({"X.npy": npy(np.ones((3, 2)))}, zipfile.ZIP_BZIP2), "compressed in an unusual way"),
    ("junk.xlsx", b"PK\x03\x04 and then junk", "cannot be opened as an archive"),
    ("array.xlsx", npz(X=np.ones((3, 2))), "is no Excel workbook"),
    ("broken.xlsx", archive({"[Content_Types].xml": "", "xl/workbook.xml": "<workbook"}), "cannot be read as an Excel"),
    ("old.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "is encrypted or an old Excel workbook"),
    ("none.xlsx", xlsx([]), "none of its sheets has a value"),
    ("names.xlsx", xlsx([["a", "b"]]), "no rows below the names"),
    ("text.xlsx", xlsx([["a", "b"], ["u", "x"], ["v", "y"]]), "no column of numbers"),
    ("junk.parquet", b"PAR1 and then junk PAR1", "cannot be read as Parquet"),
    ("cut.parquet", parquet({"a": [1.0, 2.0]})[:-30], "cannot be read as Parquet"),
    ("secret.parquet", b"PARE" + bytes(40) + b"PARE", "is encrypted"),
    ("none.parquet", parquet({"a": pa.array([], pa.float64())}), "has 0 rows"),
    ("text.parquet", parquet({"a": ["u", "v", "w"]}), "no column of numbers"),
    ("lists.parquet", parquet({"a": [[1], [2], [3]]}), "it holds lists or records"),
    ("nodata.arff", b"@relation r\n@attribute a real\n", "has no line @data"),
    ("noattributes.arff", b"@relation r\n@data\n1\n", "declares no columns"),
    ("norows.arff", b"@relation r\n@attribute a real\n@data\n", "has no rows below @data"),
    ("ragged.arff", b"@attribute a real\n@attribute b real\n@data\n1,2\n3\n", "Row 2 of ragged.arff has 1 field"),
    ("sparse.arff", b"@attribute a real\n@data\n{0 1}\n{3 1}\n", "names column 3, and the last is 0"),
    ("declared.arff", b"@attribute a\n@data\n1\n2\n", "a declaration that cannot be read"),
    ("nested.arff", b"@attribute a relational\n@data\n1\n2\n", "tables within its rows"),
    ("renamed.csv", xlsx([[1, 2], [3, 4]]), "a zip archive or an Excel workbook, not text"),
    ("renamed.txt", npy(np.ones((3, 2))), "a NumPy array, not text"),
    ("old.xls", b"abc", "ends in .xls, which is not read: save it as XLSX or CSV"),
    ("page.html", b"<p>", "ends in .html, which is not read"),
    ("noending", b"1,2\n3,4\n", "has no ending"),
    ("", b"1,2\n3,4\n", "The format is not known without a name"),
]


@pytest.mark.parametrize(("name", "content", "words"), CASES, ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)])
def test_each_bad_file_gets_one_sentence(name, content, words):
    assert re.search(words, refusal(content, name))


def test_nothing_is_ever_unpickled():
    for name, content in [
        ("a.npy", npy(np.array([[Trap()]], dtype=object))),
        ("a.npz", npz(X=np.array([[Trap()]], dtype=object))),
        ("a.npz", npz(X=np.ones((2, 2)), y=np.array([Trap(), Trap()], dtype=object))),
        ("a.npz", archive({"X.npy": pickle.dumps(Trap())})),
        ("a.npy", pickle.dumps(Trap())),
    ]:
        refusal(content, name)
    assert not Trap.sprung
    assert pickle.loads(pickle.dumps(Trap())) is None
    assert Trap.sprung  # the trap works


def test_names_in_messages_are_plain_and_short():
    assert refusal(b"", "/home/me/x\n\x00y.csv").startswith("x y.csv is empty")
    assert len(refusal(b"", "n" * 500 + ".csv")) < 200


# ------------------------------------------------------------------------------------------------ rows


TEN = "".join(f"{i},{i * i}\n" for i in range(10)).encode()
LONG = [
    ("t.csv", b"a,b\n" + TEN),
    ("t.csv", b'a,b\n"0",0\n' + TEN[4:]),
    ("t.txt", TEN.replace(b",", b" ")),
    ("t.npy", npy(np.ones((10, 2)))),
    ("t.npz", npz(X=np.ones((10, 2)))),
    ("t.xlsx", xlsx([[1, 2]] * 10)),
    ("t.parquet", parquet({"a": [1.0] * 10})),
    ("t.arff", b"@attribute a real\n@attribute b real\n@data\n" + TEN),
]


@pytest.mark.parametrize(("name", "content"), LONG, ids=[f"{case[0]}-{i}" for i, case in enumerate(LONG)])
def test_too_many_rows_in_every_format(name, content):
    assert re.search(
        r"has (10 rows, and 8 are|more than 8 rows, the most that is) allowed: take a sample",
        refusal(content, name, max_rows=8),
    )
    assert read_table(content, name=name, max_rows=10).n_rows == 10


def test_too_many_rows_are_refused_before_anything_is_parsed(monkeypatch):
    import pyarrow.csv

    monkeypatch.setattr(pyarrow.csv, "read_csv", lambda *_, **__: pytest.fail("parsed"))
    assert "1,000,000 rows" in refusal(b"1,2\n" * 1_000_000, "t.csv", max_rows=20_000)


def test_a_parquet_file_is_refused_by_its_metadata(monkeypatch):
    content = parquet({"a": np.zeros(200_000)})
    assert len(content) < 100_000
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda *_, **__: pytest.fail("read"))
    assert "200,000 rows" in refusal(content, "t.parquet", max_rows=20_000)


# ------------------------------------------------------------------------------------------------ size


def test_a_large_file_is_not_even_opened(tmp_path):
    path = tmp_path / "huge.csv"
    path.touch()
    os.truncate(path, 10_000 * MB)  # sparse: takes no room
    assert peak(lambda: refusal(path, None)) < MB
    assert "10000 MB" in refusal(path, None)


def test_an_open_file_is_read_only_as_far_as_allowed():
    class Endless(io.RawIOBase):
        def __init__(self):
            self.given = 0

        def read(self, size=-1):
            assert 0 <= size <= 2_000
            self.given += size
            return bytes(size)

    stream = Endless()
    assert "are allowed" in refusal(stream, "e.csv", max_bytes=1_000)
    assert stream.given <= 2_000


def test_the_size_allowed_is_told():
    assert "50 MB are allowed" in refusal(bytes(60 * MB), "a.csv")
    assert "has 2,000 bytes, and 1,000 bytes are allowed" in refusal(b"1," * 1000, "a.csv", max_bytes=1_000)


@pytest.mark.parametrize("source", [3, None, object()])
def test_what_is_no_file(source):
    assert "cannot be read" in refusal(source, "a.csv")


def test_a_file_that_is_not_there_or_no_file(tmp_path):
    assert "There is no file" in refusal(tmp_path / "none.csv", None)
    (tmp_path / "folder.csv").mkdir()
    assert "folder.csv is not a file" in refusal(tmp_path / "folder.csv", None)
    os.mkfifo(tmp_path / "pipe.csv")
    assert "pipe.csv is not a file" in refusal(tmp_path / "pipe.csv", None)
    assert "cannot be opened" in refusal("a\0b.csv", "x.csv")


# ------------------------------------------------------------------------------------------------ anything at all

ENDINGS = ["csv", "tsv", "txt", "arff", "parquet", "npy", "npz", "xlsx"]


def _good():
    X = np.random.default_rng(0).normal(size=(12, 2))
    lines = [f"{a!r},{b!r},{i % 2}" for i, (a, b) in enumerate(X.tolist())]
    return {
        "csv": "\n".join(["a,b,label", *lines]).encode(),
        "tsv": "\n".join(lines).replace(",", "\t").encode(),
        "txt": "\n".join(lines).replace(",", " ").encode("utf-16"),
        "arff": "\n".join(
            ["@attribute a real", "@attribute 'b c' real", "@attribute c {0,1}", "@data", *lines]
        ).encode(),
        "parquet": parquet({"a": X[:, 0], "b": X[:, 1], "label": ["u", "v"] * 6}),
        "npy": npy(X),
        "npz": npz(X=X, y=np.arange(12) % 2),
        "xlsx": xlsx([["a", "b"], *X.tolist()]),
    }


GOOD = _good()


def _only_input_errors(content, name):
    """Read and prepare: a table or a sentence, any other error fails the test."""
    message = "A table."
    try:
        table = read_table(content, name=name)
        assert isinstance(table, Table)
        table.head()
        table.prepare(missing=table.missing, scaling="unit")
    except InputError as error:
        message = str(error)
    assert message.endswith(".")
    assert "\n" not in message


@given(content=st.binary(min_size=1, max_size=300), ending=st.sampled_from(ENDINGS))
@settings(max_examples=200, deadline=None)
def test_any_bytes(content, ending):
    _only_input_errors(content, f"f.{ending}")


@given(text=st.text(alphabet='0123456789.,;|\t\n" #%eE+-abxNA?{}@', min_size=1, max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_text(text):
    _only_input_errors(text.encode(), "f.csv")
    _only_input_errors(f"@attribute a real\n@attribute b {{u,v}}\n@data\n{text}".encode(), "f.arff")


@given(data=st.data(), ending=st.sampled_from(ENDINGS))
@settings(max_examples=300, deadline=None)
def test_damaged_files(data, ending):
    content = bytearray(GOOD[ending])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    _only_input_errors(bytes(content), f"f.{ending}")


def test_the_files_to_be_damaged_are_good():
    for ending, content in GOOD.items():
        assert read_table(content, name=f"f.{ending}").X.shape[0] == 12
