"""Files that a stranger might send: bombs, lies, damage, odd encodings, and ordinary files with parts changed.

Entry point: `files`. Seeded: the same seed gives the same files.
"""

from __future__ import annotations

import io
import pickle
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

SCRIPT = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(1)>"


class File(NamedTuple):
    """A file to upload, and what is wrong with it."""

    name: str
    content: bytes
    what: str


# Ordinary files, to be changed ---------------------------------------------------------------------------------------


def _table(rng: random.Random, n: int) -> list[list[Any]]:
    return [[rng.randint(-99, 99), round(rng.gauss(0, 1), 4), rng.choice("abc"), i % 3] for i in range(n)]


def csv_file(rng: random.Random) -> bytes:
    separator = rng.choice(",;\t| ")
    rows = [["x", "y", "kind", "label"], *_table(rng, rng.randint(2, 40))]
    return "\n".join(separator.join(map(str, row)) for row in rows).encode(rng.choice(["utf-8", "utf-16", "latin-1"]))


def arff_file(rng: random.Random) -> bytes:
    head = (
        "@relation r\n@attribute x numeric\n@attribute 'y y' real\n@attribute kind {a,b,c}\n@attribute label {0,1,2}\n"
    )
    return (head + "@data\n" + "\n".join(",".join(map(str, row)) for row in _table(rng, 20))).encode()


def npy_file(rng: random.Random) -> bytes:
    stream = io.BytesIO()
    X = np.arange(40).reshape(20, 2) * rng.random()
    np.save(stream, X.astype(rng.choice(["f8", "f4", "i4", "u1", "?", ">f8"])))
    return stream.getvalue()


def npz_file(rng: random.Random) -> bytes:
    stream = io.BytesIO()
    save = rng.choice([np.savez, np.savez_compressed])
    save(stream, X=np.arange(40.0).reshape(20, 2) % 7, y=np.arange(20) % 3)
    return stream.getvalue()


def xlsx_file(rng: random.Random) -> bytes:
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    sheet = book.create_sheet(rng.choice(["Sheet", SCRIPT[:31].replace("/", "")]))
    for row in [["x", "y", "kind", "label"], *_table(rng, 20)]:
        sheet.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def parquet_file(rng: random.Random) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = list(zip(*_table(rng, 40), strict=True))
    table = pa.table(dict(zip(("x", "y", "kind", "label"), map(list, columns), strict=True)))
    stream = io.BytesIO()
    pq.write_table(
        table,
        stream,
        compression=rng.choice(["NONE", "SNAPPY", "GZIP", "ZSTD"]),
        data_page_version=rng.choice(["1.0", "2.0"]),
        use_dictionary=rng.random() < 0.5,
        write_page_checksum=False,
    )
    return stream.getvalue()


ORDINARY: dict[str, Callable[[random.Random], bytes]] = {
    ".csv": csv_file,
    ".tsv": csv_file,
    ".arff": arff_file,
    ".npy": npy_file,
    ".npz": npz_file,
    ".xlsx": xlsx_file,
    ".parquet": parquet_file,
}


# Changes --------------------------------------------------------------------------------------------------------------


def flipped(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content))]


def without_middle(rng: random.Random, content: bytes) -> bytes:
    start, end = sorted(rng.randrange(len(content)) for _ in range(2))
    return content[:start] + content[end:]


def doubled(rng: random.Random, content: bytes) -> bytes:
    start, end = sorted(rng.randrange(len(content)) for _ in range(2))
    return content[:end] + content[start:end] * rng.choice([1, 3, 50]) + content[end:]


def noised(rng: random.Random, content: bytes) -> bytes:
    start = rng.randrange(len(content))
    return content[:start] + rng.randbytes(rng.randint(1, 64)) + content[start:]


def extreme(rng: random.Random, content: bytes) -> bytes:
    """Write a number that lengths and offsets do not expect."""
    changed, size = bytearray(content), rng.choice([1, 2, 4, 8])
    value = rng.choice([b"\xff", b"\x7f", b"\x80", b"\x00"]) * size
    start = rng.randrange(max(1, len(changed) - size))
    changed[start : start + size] = value
    return bytes(changed)


def within_parts(rng: random.Random, content: bytes) -> bytes:
    """Change a part of an archive and pack it again, so that the change comes past the checksums."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, zlib.error, NotImplementedError):
        return flipped(rng, content)
    chosen = rng.choice([name for name, part in parts.items() if part])
    parts[chosen] = rng.choice([flipped, cut, without_middle, noised, extreme, swapped])(rng, parts[chosen])
    return zipped(parts)


def swapped(rng: random.Random, content: bytes) -> bytes:
    """Put one of the words that formats are made of in another's place."""
    words = [b"<v>", b"</v>", b't="s"', b'r="A1"', b"{", b"}", b",", b"\n", b"'", b'"', b"numeric", b"(20, 2)", b"<f8"]
    put = [
        b"",
        b'r="XFD1048576"',
        b'r="AAAA9"',
        b't="z"',
        b"(99999999999, 9)",
        b"|O",
        b"<m8[ns]",
        b"{" * 50,
        b"9" * 500,
        b"\0",
    ]
    word = rng.choice([one for one in words if one in content] or [content[:1]])
    return content.replace(word, rng.choice(put), rng.choice([1, 1, 3, -1]))


CHANGES = (flipped, flipped, cut, without_middle, doubled, noised, extreme, within_parts, within_parts, swapped)


# Made by hand ---------------------------------------------------------------------------------------------------------


def zipped(parts: dict[str, bytes], *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return stream.getvalue()


def npy_header(text: str, data: bytes = b"") -> bytes:
    head = text.encode("latin-1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def sheet_file(sheet: str, shared: str = "") -> bytes:
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    parts = {
        "[Content_Types].xml": "<Types/>",
        "xl/workbook.xml": '<workbook xmlns:r="r"><sheets><sheet name="S" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships><Relationship Id="rId1" Type="{kind}/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f"<worksheet><sheetData>{sheet}</sheetData></worksheet>",
    }
    if shared:
        parts["xl/sharedStrings.xml"] = shared
    return zipped({name: text.encode("utf-8", "surrogatepass") for name, text in parts.items()})


def overlapping_zip(times: int) -> bytes:
    """An archive whose directory names the same bytes many times: small, and large unpacked."""
    kernel = zipped({"X.npy": bytes(4_000_000)})
    with zipfile.ZipFile(io.BytesIO(kernel)) as archive:
        info = archive.infolist()[0]
        start = archive.start_dir
    record = kernel[start : start + 46 + len(info.filename)]
    directory = record * times
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, times, times, len(directory), start, 0)
    return kernel[:start] + directory + end


def parquet_bomb(*, rows: int, distinct: int, column: str = "text", size: int = 100_000) -> bytes:
    """A dictionary of long texts named in every row, or one number repeated: small in the file, large in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    if column == "text":
        words = pa.array([chr(97 + i % 26) * size + str(i) for i in range(distinct)])
        codes = pa.array(np.arange(rows, dtype=np.int32) % distinct)
        table = pa.table({"t": pa.DictionaryArray.from_arrays(codes, words), "x": pa.array(np.zeros(rows))})
    else:
        table = pa.table({f"c{i}": pa.array(np.zeros(rows)) for i in range(distinct)})
    pq.write_table(table, stream, compression="ZSTD")
    return stream.getvalue()


def thrift_bomb(content: bytes, rng: random.Random) -> bytes:
    """A Parquet file whose footer is damaged, its length kept right."""
    length = struct.unpack("<I", content[-8:-4])[0]
    footer = content[-8 - length : -8]
    return content[: -8 - length] + rng.choice([flipped, extreme])(rng, footer) + content[-8:]


class _Execute:
    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("raise SystemExit('unpickled')",))


def by_hand() -> Iterator[File]:
    """Yield the files that a person would think of, but for the bombs."""
    yield from _tables_by_hand()
    yield from _arff_by_hand()
    yield from _arrays_by_hand()
    yield from _workbooks_by_hand()
    yield from _parquet_by_hand()


def _tables_by_hand() -> Iterator[File]:
    rows = "\n".join(f"{i},{i % 7},{'ab'[i % 2]}" for i in range(30))
    pickled = np.empty(2, dtype=object)
    pickled[:] = _Execute(), 1
    stream = io.BytesIO()
    np.save(stream, pickled, allow_pickle=True)
    yield File("pickle.npy", stream.getvalue(), "array of objects")
    yield File("pickle.npz", zipped({"X.npy": stream.getvalue()}), "array of objects in an archive")
    yield File("pickle.csv", pickle.dumps(_Execute()), "pickle")
    for name in (
        "../../../etc/cron.d/x.csv",
        "..\\..\\x.csv",
        "/etc/passwd.csv",
        "a\0b.csv",
        "x" * 5_000 + ".csv",
        ".csv",
        f"{SCRIPT}.csv",
        f"{IMAGE}.csv",
        "=cmd|' /C calc'!A0.csv",
        "\u202ecsv.exe.csv",
        "",
        "csv",
        "a.CSV",
        "é\ud800.csv",
    ):
        yield File(name, f"a,b,c\n{rows}".encode(), "odd name")
    for cell in (SCRIPT, IMAGE, "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "x" * 200_000, "\u202e", "\u0000"):
        yield File("cells.csv", f"{cell},b,label\n{rows}".encode(), "odd column name")
        yield File("classes.csv", f"a,b,label\n{rows.replace('a', cell)}".encode(), "odd class name")
    for value in ("nan", "inf", "-inf", "1e999", "-1e308", "1e-320", "9" * 400, "0x10", "1_000", "٣", "1e", "--1", "∞"):
        yield File("value.csv", f"a,b\n{value},1\n{value},2\n3,{value}\n".encode(), f"the value {value[:20]}")
    yield File("wide.csv", (",".join(["1"] * 50_000) + "\n").encode() * 3, "many columns")
    yield File(
        "names.csv",
        (",".join(["a"] * 4_000) + "\n").encode() + (",".join(["1"] * 4_000) + "\n").encode() * 3,
        "one name",
    )
    yield File("quotes.csv", b'a,b\n"' + b'""' * 1_000_000, "a quote that is never closed")
    yield File("blank.csv", b" \n" * 2_000_000, "blanks only")
    yield File("lines.csv", b"\r" * 1_000_000 + b"\n" * 1_000_000, "line ends only")
    yield File("null.csv", bytes(1_000_000), "zeros")
    yield File("comment.csv", b"#\n" * 500_000 + b"1,2\n3,4\n", "comments")
    yield File("bom.csv", b"\xff\xfe" + "a,b\n1,2\n3,4".encode("utf-16-le")[:-1], "half a character")
    yield File("utf32.csv", "a,b\n1,2\n3,4".encode("utf-32"), "UTF-32")
    yield File("utf7.csv", "+ADw-script+AD4-,b\n1,2\n3,4".encode("ascii"), "UTF-7")
    yield File("ebcdic.csv", "a,b\n1,2\n3,4".encode("cp500"), "EBCDIC")
    for name in ("x.gz", "x.pkl", "x.xls", "x.json", "x.html", "x.svg", "x.csv.zip", "x.parquet", "x.xlsx", "x.npz"):
        yield File(name, zlib.compress(b"1,2\n" * 1000), "something else")


def _arff_by_hand() -> Iterator[File]:
    yield File("data.arff", b"@data\n" * 100_000, "no columns")
    yield File("columns.arff", b"@attribute a numeric\n" * 200_000 + b"@data\n1,2\n", "many columns")
    yield File("quote.arff", b"@relation r\n@attribute '" + b"\\'" * 500_000 + b"\n@data\n1\n", "a long quoted name")
    yield File(
        "sparse.arff",
        b"@relation r\n@attribute a numeric\n@data\n{" + b"0 1," * 500_000 + b"}\n{0 1}\n",
        "long sparse row",
    )
    yield File(
        "index.arff", b"@relation r\n@attribute a numeric\n@data\n{99999999999999999999 1}\n{0 1}\n", "far index"
    )
    yield File(
        "digits.arff", b"@relation r\n@attribute a numeric\n@data\n{" + b"9" * 6_000 + b" 1}\n{0 1}\n", "long index"
    )
    yield File("escape.arff", b"@relation r\n@attribute a {" + b"'\\" * 300_000 + b"}\n@data\n1\n2\n", "escapes")
    yield File(
        "backtrack.arff",
        b"@relation r\n@attribute a numeric\n@data\n" + b"'" * 100_000 + b"\n" + b"' " * 50_000,
        "quotes",
    )


def _arrays_by_hand() -> Iterator[File]:
    for head in (
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 99999999999), }\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2000, 3000), }\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (20000, 1200), }\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2), }\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (True, 2), }\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2.5, 2), }\n",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }\n",
        "{'descr': '|V99999999', 'fortran_order': False, 'shape': (20, 2), }\n",
        "{'descr': '<U99999999', 'fortran_order': False, 'shape': (20,), }\n",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }\n",
        "{'descr': ('<f8', (1000, 1000, 1000)), 'fortran_order': False, 'shape': (2, 2), }\n",
        "{'descr': __import__('os').system('true'), 'fortran_order': False, 'shape': (2, 2), }\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': " + "(" * 300 + ")" * 300 + ", }\n",
        "[" * 9_000,
        "",
    ):
        yield File("header.npy", npy_header(head, bytes(64)), f"the header {head[:70]}")
        yield File(
            "header.npz", zipped({"X.npy": npy_header(head, bytes(64))}), f"the header {head[:70]} in an archive"
        )
    yield File("path.npz", zipped({"../../X.npy": npy_header("{}"), "/y.npy": b""}), "parts with paths")
    yield File("bz2.npz", zipped({"X.npy": bytes(9_000_000)}, compression=zipfile.ZIP_BZIP2), "bzip2")
    yield File("lzma.npz", zipped({"X.npy": bytes(9_000_000)}, compression=zipfile.ZIP_LZMA), "lzma")


def _workbooks_by_hand() -> Iterator[File]:
    cells = "".join(f'<row r="{i}"><c r="A{i}"><v>{i}</v></c><c r="B{i}"><v>{i % 3}</v></c></row>' for i in range(1, 9))
    bomb = (
        '<!DOCTYPE a [<!ENTITY b "'
        + "c" * 1_000
        + '">'
        + "".join(f'<!ENTITY b{i} "{f"&b{i - 1};" * 10 if i else "&b;" * 10}">' for i in range(12))
        + "]>"
    )
    yield File("corner.xlsx", sheet_file('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'), "a far cell")
    yield File(
        "order.xlsx", sheet_file('<row><c r="B1"><v>1</v></c><c r="A1"><v>1</v></c></row>'), "cells out of order"
    )
    yield File("formula.xlsx", sheet_file(cells.replace("<v>1</v>", "<f>HYPERLINK(1)</f><v>=1+1</v>")), "formulas")
    yield File(
        "text.xlsx",
        sheet_file(cells.replace('<c r="A', '<c t="s" r="A'), "<sst><si><t>x</t></si></sst>"),
        "missing texts",
    )
    yield File("deep.xlsx", sheet_file("<row>" * 100_000), "deep elements")
    yield File("entity.xlsx", sheet_file(cells, f"{bomb}<sst><si><t>&b11;</t></si></sst>"), "entities of entities")
    yield File(
        "file.xlsx", sheet_file(cells, '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><sst>&b;</sst>'), "a file"
    )
    yield File(
        "attributes.xlsx", sheet_file("<row " + " ".join(f'a{i}="1"' for i in range(50_000)) + "/>"), "attributes"
    )
    yield File("cell.xlsx", sheet_file(f'<row><c r="A1" t="str"><v>{"x" * 9_000_000}</v></c></row>' * 3), "long texts")
    yield File("empty.xlsx", sheet_file('<row r="1"/>' * 500_000), "empty rows")
    yield File("rows.xlsx", sheet_file("<row><c><v>1</v></c></row>" * 300_000), "many rows")


def _parquet_by_hand() -> Iterator[File]:
    yield File("magic.parquet", b"PAR1" * 10_000, "magic only")
    yield File("length.parquet", b"PAR1" + bytes(100) + b"\xff\xff\xff\x7fPAR1", "a long footer")
    yield File("thrift.parquet", b"PAR1" + b"\x19" * 5_000 + struct.pack("<I", 5_000) + b"PAR1", "a deep footer")
    rng = random.Random(7)
    for _ in range(60):
        yield File("footer.parquet", thrift_bomb(parquet_file(rng), rng), "a damaged footer")


def bombs() -> Iterator[File]:
    """Yield what is small and becomes large, or is large by itself; these take seconds to make."""
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': (24000000, 1), }\n"
    yield File("bomb.npz", zipped({"X.npy": npy_header(head, bytes(192_000_000))}), "zeros that unpack to 192 MB")
    yield File("bomb2.npz", zipped({"X.npy": bytes(300_000_000)}), "zeros that unpack to 300 MB")
    yield File("many.npz", zipped({f"{i}.npy": b"" for i in range(20_000)}), "many parts")
    yield File("overlap.npz", overlapping_zip(1_000), "parts that overlap")
    inner = zipped({"X.npy": bytes(50_000_000)})
    for _ in range(8):
        inner = zipped({"X.npy": inner, "a.npz": inner})
    yield File("nested.npz", inner, "archives in archives")
    yield File(
        "bomb.xlsx", zipped({"[Content_Types].xml": b"", "xl/workbook.xml": bytes(190_000_000)}), "zeros in a workbook"
    )
    yield File("texts.parquet", parquet_bomb(rows=20_000, distinct=40), "long texts in every row")
    yield File("texts2.parquet", parquet_bomb(rows=20_000, distinct=1_500), "150 MB of texts in every row")
    yield File("zeros.parquet", parquet_bomb(rows=20_000, distinct=1_200, column="zeros"), "24 million zeros")
    yield File("rows.parquet", parquet_bomb(rows=2_000_000, distinct=1, column="zeros"), "many rows")
    yield File("columns.parquet", parquet_bomb(rows=3, distinct=9_000, column="zeros"), "many columns")
    yield File("long.csv", b"1\n" * 2_000_000, "many rows")
    yield File("line.csv", b"1" * 5_000_000, "one long line")
    yield File("commas.csv", b"," * 3_000_000, "separators only")
    yield File("quotes2.csv", b'"' * 3_000_001, "quotes only")


def files(seed: int, count: int) -> Iterator[File]:
    """Yield `count` files: those made by hand once, then ordinary ones with up to three changes."""
    yield from islice(chain(by_hand(), bombs(), changed(seed)), count)


def few(seed: int, count: int) -> Iterator[File]:
    """Yield some files of both kinds, none of which takes long to make or to read."""
    yield from random.Random(seed).sample(list(by_hand()), count // 2)
    yield from islice(changed(seed), count - count // 2)


def changed(seed: int) -> Iterator[File]:
    """Yield ordinary files with up to three changes, without end."""
    rng = random.Random(seed)
    endings = sorted(ORDINARY)
    while True:
        ending = rng.choice(endings)
        content = ORDINARY[ending](rng)
        changes = [rng.choice(CHANGES) for _ in range(rng.choice([0, 1, 1, 1, 2, 3]))]
        for change in changes:
            content = change(rng, content) or b"\0"
        told = ", ".join(change.__name__ for change in changes) or "nothing"
        yield File(f"{rng.randrange(10**6)}{ending}", content, f"{ending} changed: {told}")
