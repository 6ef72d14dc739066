"""The Dockerfile without Docker: what it promises, and its steps carried out beside it.

The same entry command runs on a copy of what the image holds, in which nothing can be written, as the image's user
where that user can run this Python, else without any capability. What only Docker can show stays unproven: that the
base image and its packages are there, that its user and volumes come out as written, and the limits of `docker run`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from services import startup
from services.context import Services
from services.jobs import execute
from services.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
USER = 10_001


def instructions():
    """Return the Dockerfile's instructions in order, as (name, text), continued lines joined."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    lines = re.sub(r"\\\n\s*", " ", text).strip().splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line.strip()]


def texts(name):
    return [text for kind, text in instructions() if kind == name]


def environment():
    pairs = (pair for text in texts("ENV") for pair in text.split())
    return dict(pair.split("=", 1) for pair in pairs)


def copied():
    """Return what the last stage copies from the repository."""
    whole = instructions()
    last = max(i for i, (kind, _) in enumerate(whole) if kind == "FROM")
    sources = (text.split()[:-1] for kind, text in whole[last:] if kind == "COPY" and "--from" not in text)
    return [source for group in sources for source in group]


def test_the_server_runs_as_nobody_and_is_looked_after():
    kinds = [kind for kind, _ in instructions()]
    assert texts("USER") == [f"{USER}:{USER}"]
    assert kinds.index("USER") < kinds.index("CMD")
    assert not [text for text in texts("COPY") if "--chown" in text], "the user must not own what it runs"
    assert "CMD" in texts("HEALTHCHECK")[0]
    assert not texts("ADD")
    assert not any(word in text for text in texts("RUN") for word in ("curl", "wget", "sudo", "chmod 777"))


def test_no_secret_is_built_in():
    assert not [name for name in environment() if re.search("KEY|SECRET|TOKEN|PASSWORD|REDIS", name)]
    assert not texts("ARG")


def test_what_is_written_lies_in_volumes():
    volumes = json.loads(texts("VOLUME")[0])
    assert set(volumes) == {environment()["OFFGRID_DATA_DIR"], environment()["NUMBA_CACHE_DIR"]}


def test_everything_that_is_installed_is_pinned():
    install = next(text for text in texts("RUN") if "pip install" in text)
    for name in re.findall(r"-r (\S+)", install):
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            wanted = line.split("#")[0].strip()
            assert not wanted or wanted.startswith("-r ") or re.fullmatch(r"[\w.\[\]-]+==[\w.+!]+", wanted), line


def test_its_pip_command_finds_nothing_left_to_do():
    install = next(text for text in texts("RUN") if "pip install" in text).split()
    command = [sys.executable, "-m", "pip", *install[install.index("install") :], "--dry-run", "--quiet", "--no-deps"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    if "No module named pip" in done.stderr:
        pytest.skip("this Python has no pip")
    assert done.returncode == 0, done.stderr
    assert "Would install" not in done.stdout, done.stdout


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """Return a folder with what the image holds, in which nobody can write, and the two volumes."""
    folder = tmp_path_factory.mktemp("image")
    app = folder / "app"
    app.mkdir()
    for source in copied():
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, app / source, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, app / source)
    services = Services(Settings(data_dir=folder / "data"))
    execute(services.request(startup.DEFAULT), services)  # so that the server need not compile before it answers
    (folder / "cache").mkdir()
    for path in sorted(app.rglob("*"), reverse=True):
        path.chmod(0o555 if path.is_dir() else 0o444)
    app.chmod(0o555)
    yield folder
    app.chmod(0o755)
    for path in app.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)


def confined(image):
    """Return how to run a command without privileges: words before it, and options for its start."""
    if os.getuid() != 0:
        return [], {}
    for path in (image, *image.parents[:2]):
        path.chmod(path.stat().st_mode | 0o011)
    own = {"user": USER, "group": USER, "extra_groups": []}
    try:
        subprocess.run([sys.executable, "-c", ""], check=True, timeout=60, **own)
    except (OSError, subprocess.CalledProcessError):
        if shutil.which("setpriv") is None:
            pytest.skip("root can neither run this Python as another user nor give its capabilities away")
        nothing = ["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
        return ["setpriv", *nothing], {}
    for path in (image / "data", image / "cache", *(image / "data").rglob("*")):
        os.chown(path, USER, USER)
    return [], own


def test_its_command_serves_from_a_tree_in_which_nothing_can_be_written(image):
    before, options = confined(image)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = {**environment(), "OFFGRID_HOST": "127.0.0.1", "OFFGRID_PORT": str(port), "WEB_CONCURRENCY": "1"}
    own |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(image / "data")}
    own |= {"OFFGRID_DATA_DIR": str(image / "data"), "NUMBA_CACHE_DIR": str(image / "cache")}
    run = {"cwd": image / "app", "env": own, **options}
    quiet = {**run, "capture_output": True, "text": True, "timeout": 60}
    probe = f"import pathlib; pathlib.Path({str(image / 'app' / 'written')!r}).touch()"
    refused = subprocess.run([*before, sys.executable, "-c", probe], check=False, **quiet)
    assert "PermissionError" in refused.stderr, "the tree can be written to, so this test would show nothing"
    log = (image / "server.log").open("wb")
    server = subprocess.Popen(
        [*before, *json.loads(texts("CMD")[0])], stdout=log, stderr=log, start_new_session=True, **run
    )
    healthy = json.loads(texts("HEALTHCHECK")[0].split(" CMD ", 1)[1])
    try:
        end = time.monotonic() + 240
        while subprocess.run([*before, *healthy], check=False, **quiet).returncode:
            assert server.poll() is None, (image / "server.log").read_text()
            assert time.monotonic() < end, (image / "server.log").read_text()
        os.kill(server.pid, signal.SIGTERM)
        assert server.wait(60) == 0, (image / "server.log").read_text()
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait(30)
        log.close()
    assert "Traceback" not in (image / "server.log").read_text()
    assert not list((image / "app").rglob("__pycache__"))
