"""The store of uploads: what is kept comes back equal, nothing half-written is seen, ids cannot be played with."""

from __future__ import annotations

import json
import os
import re
import time
import zlib

import numpy as np
import pytest

from offgrid.datasets import load, read_table
from offgrid.errors import InputError
from services.parsing import read_guarded
from services.uploads import GONE, UploadStore

CSV = "id,a,b,kind,when,label\n" + "".join(
    f"{i},{i / 7 if i % 5 else ''},{'inf' if i == 3 else i * i},{'uvw'[i % 3]},2020-01-0{i % 9 + 1},{'pq'[i % 2]}\n"
    for i in range(20)
)


@pytest.fixture
def store(tmp_path):
    """A store that reads in this process: quicker, and the same (see test_parsing)."""
    return UploadStore(tmp_path / "uploads", max_rows=100, max_bytes=1_000_000, read=read_table)


def listed(store):
    return sorted(path.name for path in store.folder.iterdir())


def test_a_store_makes_its_folder_with_the_first_upload(store):
    assert not store.folder.exists()
    assert store.sweep(0) == 0
    with pytest.raises(InputError):
        store.get("x" * 22)
    store.save("a.csv", CSV.encode())
    assert store.folder.stat().st_mode & 0o077 == 0


def test_what_is_saved_comes_back_equal(store):
    saved = store.save("a.csv", CSV.encode())
    kept = UploadStore(store.folder).get(saved.id)  # another process
    assert (kept.id, kept.filename, kept.created) == (saved.id, "a.csv", saved.created)
    old, new = saved.table, kept.table
    assert new.report == old.report
    assert (new.name, new.n_rows, new.scaling, new.missing, new.k) == (old.name, 20, "unit", old.missing, 2)
    for one, other in zip(old.columns, new.columns, strict=True):
        assert np.array_equal(one.values, other.values, equal_nan=one.kind == "number")
        assert one.values.dtype == other.values.dtype
        for field in ("name", "kind", "categories", "declared", "n_infinite", "why", "role"):
            assert getattr(one, field) == getattr(other, field)
    assert new.head() == old.head()
    for missing in ("drop", "median"):
        assert new.prepare(missing=missing, scaling="unit").hash == old.prepare(missing=missing, scaling="unit").hash


def test_pictures_stay_pictures(store):
    import io

    stream = io.BytesIO()
    np.savez(stream, X=load("digits").X[:50].astype(np.uint8), y=load("digits").y[:50])
    upload = store.save("digits.npz", stream.getvalue())
    assert store.get(upload.id).table.image_shape == (8, 8)
    assert store.get(upload.id).table.prepare().image_shape == (8, 8)


def test_names_that_are_markup_or_no_ascii_come_back(store):
    upload = store.save("größe <b>.csv", "<script>alert(1)</script>,größe\n1,2\n3,5\n".encode())
    kept = store.get(upload.id)
    assert kept.filename == "größe <b>.csv"
    assert kept.table.features == ("<script>alert(1)</script>", "größe")


@pytest.mark.parametrize("filename", ["../../etc/a.csv", "C:\\x\\a.csv", "/a.csv", "..\\a.csv"])
def test_folders_in_a_file_s_name_are_dropped(store, filename):
    upload = store.save(filename, CSV.encode())
    assert upload.filename == "a.csv"
    assert listed(store) == [upload.id]


def test_a_store_reads_in_a_process_with_limits_unless_told_otherwise(tmp_path):
    assert UploadStore(tmp_path)._read_file is read_guarded


def test_ids_cannot_be_guessed(store):
    ids = {store.save("a.csv", CSV.encode()).id for _ in range(20)}
    assert len(ids) == 20
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{27}", upload_id) for upload_id in ids)


@pytest.mark.parametrize(
    "wrong", ["", ".", "..", "../secret", "/etc/passwd", "x" * 22, "x" * 21 + "/", None, 7, "x" * 22 + "\n"]
)
def test_ids_that_are_none(store, wrong):
    upload = store.save("a.csv", CSV.encode())
    secret = store.folder.parent / "secret"
    (store.folder / upload.id).rename(secret)
    with pytest.raises(InputError) as caught:
        store.get(wrong)
    assert str(caught.value) == GONE == "This upload is no longer kept. Upload the file again."


def test_what_is_kept_is_never_code(store):
    upload = store.save("a.csv", CSV.encode())
    files = sorted((store.folder / upload.id).iterdir())
    assert [file.name for file in files] == ["cells.z", "codes.npy", "numbers.npy", "table.json", "visitor"]
    zlib.decompress(files[0].read_bytes()).decode()
    for file in files[1:3]:
        assert not np.load(file, allow_pickle=False).dtype.hasobject
    json.loads(files[3].read_text())


def test_the_file_s_own_words_are_kept_and_count(store):
    upload = store.save("a.csv", CSV.encode())
    kept = UploadStore(store.folder).get(upload.id).table
    assert [",".join(row) for row in kept.cells()] == CSV.splitlines()
    assert store.size() > len(kept.given.packed) + kept.n_rows * 8 * 3


def test_an_upload_that_was_kept_without_its_words_is_still_read(store):
    upload = store.save("a.csv", CSV.encode())
    folder = store.folder / upload.id
    (folder / "cells.z").unlink()
    values = json.loads((folder / "table.json").read_text())
    del values["given"]
    (folder / "table.json").write_text(json.dumps(values))
    names, first, *_ = store.get(upload.id).table.cells()
    assert names == ["id", "a", "b", "kind", "when", "label"]
    assert first == (0, "", 0, "u", "2020-01-01", "p")


def test_words_that_are_lost_make_the_upload_gone(store):
    upload = store.save("a.csv", CSV.encode())
    (store.folder / upload.id / "cells.z").unlink()
    with pytest.raises(InputError, match="no longer kept"):
        store.get(upload.id)


def test_an_array_of_objects_put_in_its_place_is_not_loaded(store):
    upload = store.save("a.csv", CSV.encode())
    np.save(store.folder / upload.id / "codes.npy", np.array([{}, None], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="no longer kept"):
        store.get(upload.id)


@pytest.mark.parametrize("damage", ["", "{", '{"version": 99}', '{"version": 1}', "[]"])
def test_a_damaged_upload_is_gone(store, damage):
    upload = store.save("a.csv", CSV.encode())
    (store.folder / upload.id / "table.json").write_text(damage)
    with pytest.raises(InputError, match="no longer kept"):
        store.get(upload.id)


@pytest.mark.parametrize("file", ["codes.npy", "numbers.npy", "table.json"])
def test_an_upload_without_one_of_its_files_is_gone(store, file):
    upload = store.save("a.csv", CSV.encode())
    (store.folder / upload.id / file).unlink()
    with pytest.raises(InputError, match="no longer kept"):
        store.get(upload.id)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"a,b\nu,v\nw,x\n", "no column of numbers"),
        (bytes(1_000_001), "are allowed"),
        (b"1,2\n" * 200, "has 200 rows, and 100 are allowed"),
    ],
)
def test_a_refused_file_leaves_nothing_behind(store, content, words):
    kept = store.save("good.csv", CSV.encode())
    with pytest.raises(InputError, match=words):
        store.save("bad.csv", content)
    assert listed(store) == [kept.id]
    assert store.get(kept.id).filename == "good.csv"


def test_an_upload_that_fails_half_way_is_not_seen(store, monkeypatch):
    store.save("a.csv", CSV.encode())
    before = listed(store)
    monkeypatch.setattr(json, "dumps", lambda *_, **__: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError, match="no space"):
        store.save("b.csv", CSV.encode())
    assert listed(store) == before


def test_sweep_takes_the_unused_and_leaves_the_used_and_the_foreign(store):
    old, used = store.save("old.csv", CSV.encode()), store.save("used.csv", CSV.encode())
    stranger = store.folder / "keep.txt"
    stranger.write_text("not ours")
    interrupted = store.folder / ".new-abc"
    interrupted.mkdir()
    yesterday = time.time() - 86_400
    for path in (store.folder / old.id, store.folder / used.id, stranger, interrupted):
        os.utime(path, (yesterday, yesterday))
    store.get(used.id)
    assert store.sweep(2 * 86_400) == 0
    assert store.sweep(3_600) == 2
    assert listed(store) == sorted([used.id, "keep.txt"])
    assert store.get(used.id).filename == "used.csv"
    with pytest.raises(InputError, match="no longer kept"):
        store.get(old.id)
