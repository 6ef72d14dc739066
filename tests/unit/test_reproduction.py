"""The code that the Code tab shows does the same run again: it is carried out, and compared."""

from __future__ import annotations

import contextlib
import csv
import io
import shlex
from pathlib import Path
from typing import Any

import pytest

from callbacks.export_menu import exported
from layouts import ids
from offgrid import cli
from offgrid.comparison import RECOMMENDED, beside
from offgrid.path import BandwidthPath
from services.context import Services
from services.jobs import execute
from services.points import DataSpec
from services.reproduction import python_code, shell_command
from services.run_settings import RunSettings, SearchSettings
from services.settings import Settings

ROWS = [f"{i % 3 + 0.1 * (i % 7)},{i % 5},{'xyz'[i % 3]},{'' if i == 4 else i * i % 11}" for i in range(40)]
TABLE = "\n".join(['a b,"c,d",-class,e', *ROWS])


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Services:
    return Services(Settings(data_dir=tmp_path_factory.mktemp("data")))


def carried_out(services: Services, asked: RunSettings) -> BandwidthPath:
    run_id = services.request(asked)
    execute(run_id, services)
    run = services.runs.get(run_id)
    assert run is not None
    assert run.state == "finished", run.message
    return run.path


def of_python(text: str, folder: Path) -> dict[str, Any]:
    """Carry Python text out as a user would, in a folder, and return what it leaves."""
    names: dict[str, Any] = {}
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        exec(text, names)
    return names


def of_shell(text: str, folder: Path) -> tuple[list[dict[str, str]], str]:
    """Carry shell commands out in a folder, and return the path and the table with clusters that they write."""
    for line in text.splitlines():
        program, *arguments = shlex.split(line)
        assert program == "offgrid"
        with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
            assert cli.main(arguments) == 0
    with (folder / "path.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file)), (folder / "labels.csv").read_text(encoding="utf-8")


def taken_away(services: Services, asked: RunSettings) -> str:
    """Return the recommended clustering as the Export menu saves it."""
    run_data = {"id": services.request(asked), "query": asked.to_query()}
    return exported(services, ids.EXPORT_LABELS_CSV, run_data, None).text


def same(services: Services, asked: RunSettings, folder: Path, file: str | None = None, record: int = -2) -> None:
    path = carried_out(services, asked)
    place = record % len(path)
    left = of_python(python_code(asked, file, record=place), folder)
    assert [one.sigma for one in left["search"].path_] == [one.sigma for one in path.records]
    assert (left["labels"] == path.records[place].labels).all()
    rows, labels = of_shell(shell_command(asked, file, beside=asked.search.plain), folder)
    records = sorted(path.records, key=lambda one: one.sigma)
    assert [float(row["sigma"]) for row in rows] == [one.sigma for one in records]
    assert [float(row["cnnc"]) for row in rows] == [one.cnnc for one in records]
    assert labels == taken_away(services, asked)


BUILTIN = {
    "defaults": RunSettings(DataSpec("builtin:flame"), SearchSettings(2)),
    "every option": RunSettings(
        DataSpec("builtin:iris", columns=("petal length", "sepal width"), label=None, scaling="robust"),
        SearchSettings(3, "dyadic", (1, 3), 0.5, "k-means++", 2, 7, "movers", 6),
    ),
    "Laplacian": RunSettings(DataSpec("builtin:iris"), SearchSettings(3, kernel="laplacian", max_steps=6)),
    "polynomial": RunSettings(DataSpec("builtin:iris"), SearchSettings(3, kernel="polynomial", offset=2, max_steps=4)),
    "sum": RunSettings(
        DataSpec("builtin:iris"), SearchSettings(3, plus=(0.5, "polynomial", 2.0), offset=1.5, seed=3, max_steps=4)
    ),
}  # fmt: skip


@pytest.mark.parametrize("asked", list(BUILTIN.values()), ids=list(BUILTIN))
def test_a_built_in_run_is_done_again(services: Services, asked: RunSettings, tmp_path: Path) -> None:
    columns = asked.data.columns
    if columns is not None:
        every = services.points(DataSpec(asked.data.source)).feature_names
        asked = RunSettings(DataSpec("builtin:iris", (every[2], every[1]), None, scaling="robust"), asked.search)
    same(services, asked, tmp_path)


@pytest.mark.parametrize("name", ["plain.csv", 'it\'s "odd" $HOME.csv', "-dash.csv", "builtin:x.csv"])
def test_an_upload_is_done_again_whatever_its_names(services: Services, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(TABLE, encoding="utf-8")
    upload = services.uploads.save(name, TABLE.encode())
    data = DataSpec(f"upload:{upload.id}", ("c,d", "e", "a b"), "-class", "median", "unit")
    same(services, RunSettings(data, SearchSettings(3, seed=1, max_steps=5)), tmp_path, upload.filename, record=0)


def test_the_recommendation_is_found_again(services: Services, tmp_path: Path) -> None:
    asked = BUILTIN["defaults"]
    path = carried_out(services, asked)
    found = services.compared(asked)[RECOMMENDED]
    left = of_python(python_code(asked, None, record=-1, n=240), tmp_path)
    assert (left["labels"] == beside(path, found).records[-1].labels).all()
    assert shell_command(asked, None, beside=True, n=3100).endswith("--max-rows 2000 --labels-out labels.csv")
    assert "max_rows=2000" in python_code(asked, None, record=-1, n=3100), "as the page does with many rows"


def test_python_is_readable() -> None:
    asked = RunSettings(DataSpec("builtin:aggregation"), SearchSettings(7))
    assert python_code(asked, None, record=12).splitlines()[3:6] == [
        'points = load("aggregation").prepare(scaling="none")',
        'search = BandwidthSearch(7, method="certified", random_state=0)',
        "search.fit(points.X, points.y)",
    ]
    assert shell_command(asked, None) == (
        "offgrid search builtin:aggregation --k 7 --scaling none --method certified --seed 0 --out path.csv "
        "--labels-out labels.csv"
    )
    long = RunSettings(asked.data, SearchSettings(7, kernel="polynomial", plus=(0.5, "laplacian", 2.0), start=2.5))
    assert max(map(len, python_code(long, None).splitlines())) < 100
