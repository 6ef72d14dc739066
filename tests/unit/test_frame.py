"""The frame holds: layers, pins, versions, and what README says."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import fields
from importlib.metadata import distribution, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import offgrid
from offgrid.cli_arguments import build_parser
from services.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pins(name: str) -> dict[str, str]:
    """Return the pinned versions of a requirements file by canonical name; every line must be an exact pin."""
    found = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        text = line.split("#")[0].strip()
        if not text or text.startswith("-r "):
            continue
        pin = re.fullmatch(r"([A-Za-z0-9._-]+)==([^\s*;]+)", text)
        assert pin, f"{name}: {line!r} pins no exact version"
        assert canonicalize_name(pin[1]) not in found, f"{name}: {pin[1]} twice"
        found[canonicalize_name(pin[1])] = pin[2]
    return found


def needed(requirements: set[str]) -> set[str]:
    """Return the canonical names of what is required and of all that it needs here."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(name) for name in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        extras = frozenset({"", *requirement.extras})
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        for text in distribution(name).requires or []:
            further = Requirement(text)
            if further.marker is None or any(further.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(further)
    return {name for name, _extras in seen}


PACKAGE = PROJECT["project"]
RUNTIME = {*PACKAGE["dependencies"], *PACKAGE["optional-dependencies"]["dashboard"]}
REDIS = set(PACKAGE["optional-dependencies"]["redis"])
DEVELOPMENT = {
    "axe-playwright-python", "distributed", "hypothesis", "import-linter", "mypy", "openpyxl", "pandas", "playwright",
    "pytest", "PyYAML", "ruff",
}  # fmt: skip


class TestRequirements:
    def test_runtime_pins_are_what_the_package_needs_and_no_more(self) -> None:
        assert set(pins("requirements.txt")) == needed(RUNTIME)

    def test_development_pins_are_what_the_checks_need_and_no_more(self) -> None:
        assert set(pins("requirements-redis.txt")) == needed(REDIS) - needed(RUNTIME)
        assert set(pins("requirements-dev.txt")) == needed(DEVELOPMENT) - needed(RUNTIME | REDIS)

    @pytest.mark.parametrize("name", ["requirements.txt", "requirements-redis.txt", "requirements-dev.txt"])
    def test_pinned_versions_are_the_ones_tested(self, name: str) -> None:
        pinned = pins(name)
        assert pinned == {distribution: version(distribution) for distribution in pinned}

    def test_pins_lie_within_the_ranges_of_the_package(self) -> None:
        pinned = pins("requirements.txt")
        for text in RUNTIME:
            requirement = Requirement(text)
            assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), text


class TestVersions:
    def test_package_version_is_written_once(self) -> None:
        assert PACKAGE["version"] == offgrid.__version__
        assert f"## [{offgrid.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    def test_container_has_the_oldest_python_allowed(self) -> None:
        images = re.findall(
            r"^FROM python:([\d.]+)-slim", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE
        )
        assert images
        assert {f">={image}" for image in images} == {PACKAGE["requires-python"]}

    @pytest.mark.skipif("CI" not in os.environ, reason="a developer may use a newer Python")
    def test_container_has_the_python_that_the_tests_run_on(self) -> None:
        assert PACKAGE["requires-python"] == f">={sys.version_info.major}.{sys.version_info.minor}"

    def test_container_copies_every_package(self) -> None:
        dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
        ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        for name in ("offgrid", "services", "figures", "layouts", "callbacks", "assets", "app.py", "gunicorn.conf.py"):
            assert re.search(rf"^COPY\b.*\b{re.escape(name)}\b", dockerfile, re.MULTILINE), name
            assert f"!{name}" in ignored


def test_arrows_point_one_way() -> None:
    """import-linter's contracts hold."""
    linter = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(linter, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_library_loads_without_the_web() -> None:
    """Importing all of `offgrid`, its command line too, brings in neither Dash nor Flask nor plotly."""
    check = (
        "import sys, offgrid.cli, offgrid.search, offgrid.datasets\n"
        "sys.exit(sorted({'dash', 'flask', 'plotly', 'werkzeug'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [module.name for module in pkgutil.walk_packages(offgrid.__path__, "offgrid.")])
def test_examples_in_docstrings_are_true(name: str) -> None:
    if name != "offgrid.__main__":
        assert doctest.testmod(importlib.import_module(name)).failed == 0


class TestReadme:
    def test_settings_table_is_the_settings(self) -> None:
        told = set(re.findall(r"^\| `OFFGRID_([A-Z_]+)` \|", README, re.MULTILINE))
        assert told == {field.name.upper() for field in fields(Settings)}

    def test_settings_table_has_the_defaults(self) -> None:
        for field in fields(Settings):
            if isinstance(field.default, str | int | float):
                plain = int(field.default) if isinstance(field.default, bool) else field.default
                shown = f"{plain:g}" if isinstance(plain, float) else str(plain)
                assert f"| `OFFGRID_{field.name.upper()}` | `{shown}` |" in README

    def test_python_example_runs(self) -> None:
        example, *_ = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
        assert len([line for line in example.splitlines() if line.strip()]) == 5
        environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", example],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False, encoding="utf-8",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert len(lines) > 3
        assert all(line.startswith("σ = ") for line in lines)

    def test_commands_are_understood(self) -> None:
        commands = re.findall(r"^python -m offgrid (.*)$", README, re.MULTILINE)
        assert len(commands) >= 5
        for command in commands:
            build_parser().parse_args(shlex.split(command, comments=True))

    @pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
    def test_make_targets_exist(self, name: str) -> None:
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        targets = re.findall(r"(?:`|^)make ([a-z-]+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert {"run", "test"} <= set(targets)
        for target in targets:
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target

    @pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/how-it-works.md"])
    def test_links_and_named_files_exist(self, name: str) -> None:
        text = (ROOT / name).read_text(encoding="utf-8")
        folder = (ROOT / name).parent
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (folder / target).exists(), target
        for target in re.findall(
            r"`((?:offgrid|services|figures|layouts|callbacks|tests|docs|assets)/[\w./-]+)`", text
        ):
            assert (ROOT / target).exists(), target


def test_tree_in_contributing_names_what_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [tree] = re.findall(r"## Where things live\n\n```\n(.*?)```", text, re.DOTALL)
    folders: list[str] = []
    for line in tree.splitlines():
        indent, names = len(line) - len(line.lstrip()), re.split(r"  +", line.strip())[0]
        folders = folders[: indent // 2]
        for name in names.split():
            assert (ROOT / "/".join([*folders, name])).exists(), line
        if names.endswith("/"):
            folders.append(names.rstrip("/"))
    packages = {"offgrid/", "figures/", "layouts/", "callbacks/", "services/", "assets/", "tests/", "docs/"}
    assert packages <= set(tree.split())
