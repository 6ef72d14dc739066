"""Archives that are traps: bombs, liars, far corners, endless texts. Each is refused, and takes no memory."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pytest

from offgrid.datasets import read_table
from tests.unit.tables import MB, archive, header, npy, parquet, peak, refusal

# ------------------------------------------------------------------------------------------------ zip bombs


def bomb(member, n_bytes, declared=None, around=None):
    """An archive with a member of zeros; `declared` is the size that its directory claims."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = bytes(MB)
    parts, check, first = [], 0, b""
    start = header((n_bytes // 8, 1)) if member.endswith(".npy") else b"<worksheet>"
    for piece in [start, *([block] * (n_bytes // MB))]:
        parts.append(packer.compress(piece))
        first += piece if len(first) < (declared or 0) else b""
        check = zlib.crc32(piece, check)
    packed = b"".join(parts) + packer.flush()
    size = len(start) + MB * (n_bytes // MB)
    if declared is not None:
        size, check = declared, zlib.crc32(first[:declared])  # a liar who takes care of the checksum
    members = dict(around or {})
    blob = io.BytesIO(archive({**members, member: b""}))
    with zipfile.ZipFile(blob) as whole:
        offset = whole.getinfo(member).header_offset
    return _patched(blob.getvalue()[:offset], members, member, packed, check, size)


def _patched(before, members, member, packed, check, size):
    name = member.encode()
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 0, check, len(packed), size, len(name), 0) + name
    content = before + local + packed
    start = len(content)
    with zipfile.ZipFile(io.BytesIO(archive(members))) as others:
        entries = [
            (i.filename.encode(), i.compress_type, i.CRC, i.compress_size, i.file_size, i.header_offset)
            for i in others.infolist()
        ]
    entries.append((name, 8, check, len(packed), size, len(before)))
    for title, method, crc, compressed, full, offset in entries:
        content += struct.pack(
            "<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, method, 0, 0, crc, compressed, full, len(title), 0, 0, 0, 0, 0, offset
        )
        content += title
    return content + struct.pack(
        "<4s4H2IH", b"PK\5\6", 0, 0, len(entries), len(entries), len(content) - start, start, 0
    )


WORKBOOK = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    "_rels/.rels": (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        '<sheets><sheet name="s" sheetId="1" r:id="rId1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>'
    ),
}
SHEET = "xl/worksheets/sheet1.xml"


def workbook(sheet, **more):
    return archive({**WORKBOOK, SHEET: f"<worksheet><sheetData>{sheet}</sheetData></worksheet>", **more})


def test_the_hand_made_workbook_is_good():
    cells = '<row><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c></row><row><c r="A2"><v>3.5</v></c></row>'
    assert read_table(workbook(cells), name="a.xlsx").column("column 1").values.tolist() == [1, 3.5]


@pytest.mark.parametrize(("name", "member", "around"), [("b.npz", "X.npy", {}), ("b.xlsx", SHEET, WORKBOOK)])
@pytest.mark.parametrize("declared", [None, 5_000])
def test_a_zip_bomb_takes_no_memory(name, member, around, declared):
    content = bomb(member, 400 * MB, declared, around)
    assert len(content) < 0.5 * MB
    used = peak(lambda: refusal(content, name))
    assert used < 20 * MB
    message = refusal(content, name)
    assert ("unpacks to more than 200 MB" in message) == (declared is None)


def test_the_bomb_s_archive_is_well_made():
    content = bomb("X.npy", 4 * MB)
    assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None
    assert "no table does" in refusal(bomb("X.npy", 40 * MB), "b.npz")


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ('<row><c r="A1"><v>1</v></c></row><row><c r="XFD1048576"><v>2</v></c></row>', "has 16,384 columns"),
        ('<row><c r="A1"><v>1</v></c></row><row><c r="ZZZ2"><v>2</v></c></row>', "has 18,278 columns"),
        ('<row><c r="ZZZZZZZ1"><v>1</v></c></row>', "is damaged"),
        ('<row><c r="1A"><v>1</v></c></row>', "is damaged"),
        ('<row><c r="B1"><v>1</v></c><c r="A1"><v>1</v></c></row>', "is damaged"),
        ('<row><c r="A1" t="s"><v>7</v></c></row>', "is damaged"),
        ('<row><c r="A1" t="s"><v>-1</v></c></row>', "is damaged"),
        ('<row><c r="A1"><v>1</v></c>', "is damaged"),
        ('<row><c r="A1" t="s"><v>x</v></c></row>', "is damaged"),
    ],
)
def test_cells_in_impossible_places_take_no_memory(cells, words):
    content = workbook(cells, **{"xl/sharedStrings.xml": "<sst><si><t>one</t></si></sst>"})
    assert peak(lambda: refusal(content, "a.xlsx")) < 5 * MB
    assert words in refusal(content, "a.xlsx")


def test_a_row_far_below_is_only_the_next_row():
    cells = '<row r="1"><c r="A1"><v>1</v></c></row><row r="99999999"><c r="A99999999"><v>2</v></c></row>'
    assert read_table(workbook(cells), name="a.xlsx").column("column 1").values.tolist() == [1, 2]


def test_a_long_text_used_many_times():
    cells = "".join(f'<row><c r="A{i}" t="s"><v>0</v></c></row>' for i in range(1, 9001))
    content = workbook(cells, **{"xl/sharedStrings.xml": f"<sst><si><t>{'x' * 32_000}</t></si></sst>"})
    assert peak(lambda: refusal(content, "a.xlsx")) < 20 * MB
    assert "has more than 200 MB of text in its cells" in refusal(content, "a.xlsx")


def test_a_long_text_repeated_in_every_row_of_a_parquet_file_costs_its_length_once():
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), pa.array(["x" * MB]))
    content = parquet({"a": np.arange(20_000.0), "t": long}, compression="zstd", store_schema=False)
    assert len(content) < MB
    table = read_table(content, name="t.parquet")
    assert table.features == ("a",)
    assert [len(word) for word in table.column("t").categories] == [MB]


def test_an_archive_of_very_many_parts():
    members = {f"{i}.npy": b"" for i in range(10_001)}
    assert "holds 10,001 parts" in refusal(archive(members, zipfile.ZIP_STORED), "a.npz")


def test_an_encrypted_archive():
    content = bytearray(archive({"X.npy": npy(np.ones((3, 2)))}))
    content[6] |= 1  # in the member's own header
    content[content.index(b"PK\1\2") + 8] |= 1  # and in the directory
    assert "is encrypted: save it without a password" in refusal(bytes(content), "a.npz")


def test_xml_entities_do_not_multiply():
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    sheet = (
        f'<?xml version="1.0"?><!DOCTYPE w [<!ENTITY l0 "ha">{laughs}]><worksheet><sheetData><row><c r="A1" t="str"><v>'
    )
    content = archive({**WORKBOOK, SHEET: sheet + "&l9;</v></c></row></sheetData></worksheet>"})
    assert "is damaged" in refusal(content, "a.xlsx")
    assert peak(lambda: refusal(content, "a.xlsx")) < 5 * MB


def test_a_workbook_declares_no_entities():
    cells = '<row><c r="A1"><v>1</v></c></row><row><c r="A2"><v>2</v></c></row>'
    sheet = f"<worksheet><sheetData>{cells}</sheetData></worksheet>"
    assert read_table(archive({**WORKBOOK, SHEET: sheet}), name="a.xlsx").n_rows == 2
    assert "is damaged" in refusal(archive({**WORKBOOK, SHEET: '<!DOCTYPE w [<!ENTITY a "1">]>' + sheet}), "a.xlsx")
