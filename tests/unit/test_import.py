"""The package as it is imported, and the examples in its docstrings."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import offgrid

MODULES = [
    module.name for module in pkgutil.walk_packages(offgrid.__path__, "offgrid.") if "__main__" not in module.name
]
EXAMPLES = doctest.DocTestFinder(exclude_empty=True)


def examples():
    for name in MODULES:
        for test in EXAMPLES.find(importlib.import_module(name)):
            if test.examples:
                yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("test", list(examples()))
def test_docstring_examples_hold(test):
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_the_main_entry_points_have_examples():
    with_examples = {name for name in offgrid.__all__ if ">>>" in (inspect.getdoc(getattr(offgrid, name)) or "")}
    assert {
        "BandwidthSearch",
        "KernelKMeans",
        "RBF",
        "critical_bandwidth",
        "fast_power",
        "bandwidth_lower_bound",
    } <= with_examples


@pytest.mark.parametrize("name", offgrid.__all__)
def test_every_public_name_is_there_and_documented(name):
    assert inspect.getdoc(getattr(offgrid, name))
    assert name in dir(offgrid)


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="'offgrid' has no attribute 'bandwith_search'"):
        _ = offgrid.bandwith_search


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is(name):
    module = importlib.import_module(name)
    assert module.__doc__ or not Path(module.__file__).read_text().strip()


def loaded_after(statement):
    code = f"import sys; {statement}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy():
    assert not loaded_after("import offgrid") & {"numpy", "numba", "scipy", "sklearn", "pandas", "dash", "flask"}


def test_the_library_never_loads_the_dashboard_s_packages():
    everything = "; ".join(f"import {name}" for name in MODULES)
    assert not loaded_after(everything) & {"dash", "flask", "plotly", "diskcache", "werkzeug"}
