"""The Python and the shell commands that do a run again.

Entry points: `python_code` and `shell_command`. Both name everything that decides the result; what is at the library's
default is left out, but for the method and the seed, which a reader looks for.
"""

from __future__ import annotations

import csv
import io
import shlex
from typing import Any

from offgrid.comparison import MAX_ROWS
from services.run_settings import RunSettings, SearchSettings

_CLASSES = {"rbf": "RBF", "laplacian": "Laplacian", "polynomial": "Polynomial"}
_DEFAULTS = SearchSettings(1)
_WIDTH = 92


def python_code(asked: RunSettings, file: str | None, *, record: int | None = None, n: int = 0) -> str:
    """Return Python text that leaves the path in ``search.path_``, and the clusters of one record in ``labels``.

    Parameters
    ----------
    asked : RunSettings
    file : str or None
        Name of the uploaded file, None for a built-in data set.
    record : int or None
        Place on the path of the clustering whose labels are wanted; -1 for the recommendation beside the path.
    n : int
        Rows of the data: of very many, the recommendation works on a sample.
    """
    search = asked.search
    reader, source = ("load", asked.data.builtin) if file is None else ("read_table", file)
    used = ["BandwidthSearch", *_classes_used(search), *(["recommend_partition"] if record == -1 else [])]
    lines = [
        f"from offgrid import {', '.join(used)}",
        f"from offgrid.datasets import {reader}",
        "",
        _call(f"points = {reader}({_python(source)}).prepare", _keywords(_preparation(asked, file))),
        _call("search = BandwidthSearch", [str(search.n_clusters), *_keywords(_options(search))]),
        "search.fit(points.X, points.y)",
        "for record in search.path_:",
        f'    print(f"{search.symbol} = {{record.sigma:.6g}}, c-NNC {{record.cnnc:.4f}}, {{len(record.moved)}} moved")',
    ]
    if record == -1:
        sample = f", max_rows={MAX_ROWS}" if n > MAX_ROWS else ""
        call = f"recommend_partition(points.X, {search.n_clusters}, random_state={search.seed}{sample})"
        lines += ["", f"labels = {call}.labels"]
    elif record is not None:
        lines += ["", f"labels = search.path_[{record}].labels"]
    return "\n".join(lines)


def shell_command(asked: RunSettings, file: str | None, *, beside: bool = False, n: int = 0) -> str:
    """Return what finds the same path and recommended clustering, and writes them to ``path.csv`` and ``labels.csv``.

    Parameters
    ----------
    asked : RunSettings
    file : str or None
        As for `python_code`.
    beside : bool
        Whether the recommended clustering stands beside the path: another command finds it then.
    n : int
        Rows of the data: of very many, the recommendation works on a sample.
    """
    search = asked.search
    data = _data_words(asked, file)
    seed, labels = ["--seed", str(search.seed)], ["--labels-out", "labels.csv"]
    words = ["offgrid", "search", *data, *_kernel_words(search), "--method", search.method]
    given = {
        name: value for name, value in _options(search).items() if name not in ("method", "kernel", "random_state")
    }
    for name, value in given.items():
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        words += [f"--{name.replace('_', '-')}", text]
    words += [*seed, "--out", "path.csv"]
    if not beside:
        return shlex.join([*words, *labels])
    sample = ["--max-rows", str(MAX_ROWS)] if n > MAX_ROWS else []
    return "\n".join([shlex.join(words), shlex.join(["offgrid", "recommend", *data, *seed, *sample, *labels])])


def _data_words(asked: RunSettings, file: str | None) -> list[str]:
    """Return what to cluster, into how many clusters, and how to read it."""
    data = asked.data
    source = f"builtin:{data.builtin}" if file is None else _as_path(file)
    words = [source, "--k", str(asked.search.n_clusters)]
    if data.label is None:
        words.append("--no-label")
    elif data.label != "auto":
        words.append(f"--label={data.label}")
    if data.columns is not None:
        words.append(f"--columns={_cells(data.columns)}")
    words += [] if file is None else ["--missing", data.missing]
    return [*words, "--scaling", data.scaling]


class _Expression(str):
    """Text that is Python already."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _call(function: str, arguments: list[str]) -> str:
    """Return a call on one line, or on one for each argument where it would be long."""
    short = f"{function}({', '.join(arguments)})"
    return short if len(short) <= _WIDTH else "\n    ".join([f"{function}(", *(f"{one}," for one in arguments)]) + "\n)"


def _keywords(values: dict[str, Any]) -> list[str]:
    return [f"{name}={_python(value)}" for name, value in values.items()]


def _python(value: Any) -> str:
    """Return a value as Python text, strings in double quotes wherever they need no escapes."""
    if isinstance(value, list):
        return f"[{', '.join(map(_python, value))}]"
    plain = isinstance(value, str) and not isinstance(value, _Expression) and value.isprintable()
    return f'"{value}"' if plain and not {'"', "\\"} & set(value) else repr(value)


def _preparation(asked: RunSettings, file: str | None) -> dict[str, Any]:
    data = asked.data
    values: dict[str, Any] = {} if data.label == "auto" else {"label": data.label}
    if data.columns is not None:
        values["columns"] = list(data.columns)
    if file is not None:
        values["missing"] = data.missing
    return {**values, "scaling": data.scaling}


def _options(search: SearchSettings) -> dict[str, Any]:
    """Return the search's arguments besides k, by their names in the library."""
    values: dict[str, Any] = {}
    if not search.plain:
        values["kernel"] = _Expression(_kernel(search))
    values["method"] = search.method
    names = ["start", "init", "n_init", "max_steps"] + (["depths", "limiting"] if search.method == "dyadic" else [])
    values |= {name: getattr(search, name) for name in names if getattr(search, name) != getattr(_DEFAULTS, name)}
    return {**values, "random_state": search.seed}


def _classes_used(search: SearchSettings) -> list[str]:
    if search.plain:
        return []
    names = {_CLASSES[search.kernel]} if search.plus is None else {_CLASSES[search.kernel], _CLASSES[search.plus[1]]}
    return sorted(names | (set() if search.plus is None else {"KernelSum"}))


def _kernel(search: SearchSettings) -> str:
    if search.plus is None:
        return _made(search.kernel, search)
    weight, name, value = search.plus
    return f"KernelSum([(1.0, {_made(search.kernel, search)}, None), ({weight!r}, {_made(name, search)}, {value!r})])"


def _made(name: str, search: SearchSettings) -> str:
    return f"{_CLASSES[name]}({f'c={search.offset!r}' if name == 'polynomial' else ''})"


def _kernel_words(search: SearchSettings) -> list[str]:
    if search.plain:
        return []
    words = ["--kernel", search.kernel]
    if "polynomial" in (search.kernel, search.plus and search.plus[1]):
        words.append(f"--offset={search.offset!r}")
    return words if search.plus is None else [*words, "--plus", *map(str, search.plus)]


def _as_path(file: str) -> str:
    """Return a file's name so that it is taken for neither an option nor a built-in data set."""
    return f"./{file}" if file.startswith(("-", "builtin:")) else file


def _cells(values: tuple[str, ...]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(values)
    return out.getvalue()
