"""What the experiments leave behind: each run as a line of JSON the moment it is done, and tables made from the lines.

Entry points: `Runs` (the lines, which an interrupted experiment picks up again), `write_table`, and for readers
`load_rows`, `load_about`, `load_paper`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from offgrid.errors import InputError

HERE = Path(__file__).parent
RESULTS = HERE / "results"

Line = dict[str, Any]


class Runs:
    """The runs of one experiment, kept in a file of JSON lines.

    A line is a run, told apart by data set, contents of the data (`sha`) and number; or facts about such data; or a
    session: versions, machine and threads of the runs that carry its number. A line that was cut short is left out, and
    its run is done again.

    Parameters
    ----------
    path : Path
        Need not exist; its folder is made.

    Raises
    ------
    InputError
        Where it cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sessions: list[Line] = []
        self.runs: dict[tuple[str, str, int], Line] = {}
        self.data: dict[tuple[str, str], Line] = {}
        self._own: Line | None = None
        self._torn = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text(encoding="utf-8") if path.exists() else ""
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{str(path)!r} can't be read: {error}.") from error
        self._torn = bool(text) and not text.endswith("\n")
        for written in text.splitlines():
            self._take(written)

    def _take(self, written: str) -> None:
        try:
            line = json.loads(written)
            if line["kind"] == "session":
                self.sessions.append(line)
            elif line["kind"] == "data":
                self.data[line["case"], line["sha"]] = line["about"]
            else:
                self.runs[line["case"], line["sha"], line["run"]] = line
        except (ValueError, KeyError, TypeError):
            return

    def get(self, case: str, sha: str, run: int) -> Line | None:
        """Return a run that was done before."""
        return self.runs.get((case, sha, run))

    def begin(self, session: Mapping[str, Any]) -> None:
        """Say what the runs that follow are made with."""
        self._own = {"kind": "session", "session": len(self.sessions), **session}
        self.sessions.append(self._own)
        self._append(self._own)

    def add(self, case: str, sha: str, run: int, found: Mapping[str, Any], about: Line) -> None:
        """Keep a run of the session begun, and facts about its data before the first one."""
        assert self._own is not None
        if (case, sha) not in self.data:
            self.data[case, sha] = about
            self._append({"kind": "data", "case": case, "sha": sha, "about": about})
        number = self._own["session"]
        line = {"kind": "run", "session": number, "case": case, "sha": sha, "run": run, **found}
        self._append(line)
        self.runs[case, sha, run] = line

    def _append(self, line: Line) -> None:
        text = json.dumps(line, ensure_ascii=False) + "\n"
        try:
            with self.path.open("a", encoding="utf-8", newline="") as file:
                # a line that was cut short must not swallow this one
                file.write(f"\n{text}" if self._torn else text)
                self._torn = False
                file.flush()
        except OSError as error:
            raise InputError(f"{str(self.path)!r} can't be written: {error.strerror or error}.") from error

    def of(self, case: str, sha: str | None = None) -> list[Line]:
        """Return the runs of a data set, by number; those with the contents written last where `sha` is None."""
        if sha is None:
            sha = next((known for name, known, _ in reversed(self.runs) if name == case), None)
        found = [line for (name, known, _), line in self.runs.items() if name == case and known == sha]
        return sorted(found, key=lambda line: line["run"])


def write_table(folder: Path, stem: str, rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> None:
    """Write rows as ``stem.json`` and ``stem.csv``, and what they were made with as ``stem.about.json``.

    Each file is replaced as a whole, so that a reader never meets half of one.
    """
    columns = [*rows[0]] if rows else []
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([row[name] for name in columns] for row in rows)
    # a row a line: differences between two versions of a table can be read
    lines = ",\n".join(f" {json.dumps(dict(row), ensure_ascii=False)}" for row in rows)
    _replace(folder / f"{stem}.json", f"[\n{lines}\n]\n" if rows else "[]\n")
    _replace(folder / f"{stem}.csv", buffer.getvalue())
    _replace(folder / f"{stem}.about.json", json.dumps(about, indent=1, ensure_ascii=False) + "\n")


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8", newline="")
        part.replace(path)
    except OSError as error:
        raise InputError(f"{str(path)!r} can't be written: {error.strerror or error}.") from error


def load_rows(stem: str) -> list[dict[str, Any]]:
    """Return the rows of a table such as ``"table_2"``, or of ``"figure_1"``; none where it was not made yet."""
    return _load(RESULTS / f"{stem}.json", [])


def load_about(stem: str) -> dict[str, Any]:
    """Return what a table was made with: versions, machine, seeds, sources of data, protocol; empty where not made."""
    return _load(RESULTS / f"{stem}.about.json", {})


def load_paper() -> dict[str, Any]:
    """Return the figures that the paper prints in its tables."""
    return _load(HERE / "paper.json", {})


def _load(path: Path, missing: Any) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else missing


def rounded(values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return values with floats cut to six significant digits, which is all that a table needs."""
    return {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in values}
