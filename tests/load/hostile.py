"""A server under rubbish: uploads and requests that a stranger might send, and whether it is still right afterwards.

``python tests/load/hostile.py --uploads 2000 --requests 5000`` starts a server of its own and prints what it found;
`storm` is what the test calls. Afterwards a search that was never done before must give the library's own result.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import psutil  # noqa: E402
from hostile_files import File, few, files  # noqa: E402
from hostile_requests import JSON, UPDATE, Request, outputs_of, requests, update, values_in, well_formed  # noqa: E402

PATIENCE = 120.0  # seconds for an answer before the server counts as hanging
THREADS = 4
MANY = 500  # uploads from which on the bombs are among them, which take their time
SECRET = "open-sesame-of-the-hostile-test"
TRACE = re.compile(r"Traceback|File \"|line \d+, in |werkzeug|site-packages")


@dataclass
class Report:
    """What was sent, what came back, and what should not have."""

    statuses: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, status: str, seconds: float, what: str) -> None:
        self.statuses[status] += 1
        self.slowest = sorted([*self.slowest, (seconds, what)], reverse=True)[:5]


class Server:
    """``python app.py`` on a free port, with a data folder and a process group of its own."""

    def __init__(self, data_dir: Path, **environment: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.log = data_dir / "server.log"
        self.cookie = ""  # the visitor's, once the first page was asked for
        own = {"OFFGRID_DATA_DIR": str(data_dir), "OFFGRID_PORT": str(self.port), "OFFGRID_SECRET_KEY": SECRET}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "app.py"],
                cwd=ROOT,
                env={**os.environ, **own, **environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def await_ready(self) -> None:
        end = time.monotonic() + 300
        while True:
            assert self.process.poll() is None, f"the server ended: {self.log.read_text()[-2000:]}"
            assert time.monotonic() < end, "the server does not start"
            try:
                if self.ask(Request("GET", "/readyz", b"", {}, ""))[0] == 200:
                    return
            except OSError:
                pass
            self.process.poll()
            threading.Event().wait(0.2)

    def ask(self, request: Request) -> tuple[int, str]:
        """Return status and text of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.putrequest(request.method, request.path, skip_host="Host" in request.headers)
            for name, value in request.headers.items():
                connection.putheader(name, value.encode("latin-1"))
            if self.cookie and "Cookie" not in request.headers:
                connection.putheader("Cookie", self.cookie)
            connection.putheader("Content-Length", str(len(request.body)))
            connection.endheaders(request.body)
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def become_a_visitor(self) -> None:
        """Take the cookie that the first page sets: without one every search is refused for that alone."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("GET", "/", headers={"Accept": "text/html"})
            answer = connection.getresponse()
            answer.read()
            self.cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
        finally:
            connection.close()
        assert self.cookie, "the page sets no cookie"

    def memory(self) -> int:
        """Bytes of the web process itself."""
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)


@contextmanager
def serving(data_dir: Path, **environment: str) -> Iterator[Server]:
    server = Server(data_dir, **environment)
    try:
        server.await_ready()
        server.become_a_visitor()
        yield server
    finally:
        server.stop()


# A browser's part -----------------------------------------------------------------------------------------------------


class Page:
    """What a browser does with the page, without a browser."""

    def __init__(self, server: Server) -> None:
        self.server = server
        status, text = server.ask(Request("GET", "/_dash-dependencies", b"", {}, ""))
        assert status == 200
        self.dependencies = json.loads(text)
        output = ".._pages_content.children..._pages_store.data.."
        items = [{"id": "_pages_location", "property": name, "value": value} for name, value in
                 (("pathname", "/"), ("search", ""))]  # fmt: skip
        page = {"output": output, "outputs": outputs_of(output), "inputs": items, "state": [], "changedPropIds": []}
        status, text = server.ask(update(page, ""))
        assert status == 200, text
        self.values = values_in(json.loads(text))
        self.bodies = well_formed(self.dependencies, self.values)

    def body(self, output: str, trigger: str, **values: Any) -> dict[str, Any]:
        """Return the update of the callback that writes `output` when `trigger` changes."""
        found = [
            one
            for one in self.bodies
            if output in one["output"] and trigger in {f"{i['id']}.{i['property']}" for i in one["inputs"]}
        ]
        made: dict[str, Any] = json.loads(json.dumps(found[0]))
        for item in made["inputs"] + made["state"]:
            name = f"{item['id']}.{item['property']}".replace("-", "_").replace(".", "__")
            item["value"] = values.get(name, item["value"])
        return {**made, "changedPropIds": [trigger]}

    def send(self, body: dict[str, Any], query: str = "") -> dict[str, Any]:
        status, text = self.server.ask(update(body, "", query))
        assert status in (200, 204), f"{status} {text[:200]}"
        answer: dict[str, Any] = json.loads(text) if status == 200 else {}
        return answer

    def upload(self, file: File) -> Request:
        contents = "data:application/octet-stream;base64," + base64.b64encode(file.content).decode()
        body = self.body("upload-report.children", "upload.contents", upload__contents=contents,
                         upload__filename=file.name, data_gallery__value=None)  # fmt: skip
        return Request("POST", UPDATE, json.dumps(body).encode(), JSON, file.what)

    def search(self, source: str, k: int) -> list[float]:
        """Do a search as a person would, and return the bandwidths that it found."""
        asked = self.body("carry-out.data", "run-button.n_clicks", run_button__n_clicks=1, data_gallery__value=source,
                          k__value=k, columns__value=[], columns__data=[], label_column__value="auto")  # fmt: skip
        answer = self.send(asked)["response"]
        run = answer["run"]["data"]
        carried = self.send(self.body("done.data", "carry-out.data", carry_out__data=answer["carry-out"]["data"]))
        assert "job" in carried, carried
        end = time.monotonic() + 300
        while time.monotonic() < end:
            body = self.body("running.hidden", "poll.n_intervals", run__data=run, shown__data=None, poll__n_intervals=1)
            shown = self.send(body)["response"]["shown"]["data"]
            if not shown["active"]:
                return sorted(shown["sigmas"])
            threading.Event().wait(0.3)
        raise AssertionError("the search does not end")


def expected(name: str, k: int) -> list[float]:
    """Return the bandwidths that the library finds by itself, and the one that it recommends beside them."""
    from offgrid import BandwidthSearch
    from offgrid.comparison import RECOMMENDED, compare
    from offgrid.datasets import load

    data = load(name).prepare()
    recommended = compare(RECOMMENDED, data.X, k, data.y).choice.sigma
    assert recommended is not None
    found = [record.sigma for record in BandwidthSearch(k, random_state=0).iter_path(data.X, data.y)]
    return sorted([*found, min(recommended, sys.float_info.max)])


# The storm ------------------------------------------------------------------------------------------------------------


def storm(server: Server, sent: Iterable[Request], *, upload: bool = False) -> Report:
    """Send requests from a few threads, and judge every answer."""
    report, lock, start = Report(), threading.Lock(), time.monotonic()

    def one(request: Request) -> None:
        begin = time.monotonic()
        try:
            status, text = server.ask(request)
        except (OSError, http.client.HTTPException) as error:
            status, text = 0, repr(error)
        took = time.monotonic() - begin
        verdict, fault = judged(status, text, upload=upload)
        with lock:
            report.add(verdict, took, request.what)
            if fault:
                report.faults.append(f"{fault}: {request.method} {request.path[:80]} ({request.what[:300]})")

    with ThreadPoolExecutor(THREADS) as pool:
        pending = set()
        for request in sent:
            pending.add(pool.submit(one, request))
            if len(pending) > 4 * THREADS:
                pending = {future for future in pending if not future.done() or future.result()}
                if len(pending) > 4 * THREADS:
                    next(iter(pending)).result()
    report.seconds = time.monotonic() - start
    return report


def judged(status: int, text: str, *, upload: bool) -> tuple[str, str]:
    """Return what an answer was, and what is wrong with it."""
    if status == 0:
        return "no answer", text[:200]
    if TRACE.search(text):
        return str(status), f"a trace in the answer, {text[:300]!r}"
    if status >= 500:
        return str(status), f"{status}, {text[:200]!r}"
    if not upload or status != 200:
        return str(status), "" if not upload else f"{status}, {text[:200]!r}"
    answer = json.loads(text)
    report = json.dumps(answer.get("response", {}).get("upload-report", answer.get("sideUpdate")))
    if "report-error" in report:
        sentences = re.findall(r'"children": "((?:[^"\\]|\\.)+)"', report)
        good = (
            len(sentences) == 1 and sentences[0].endswith(".") and "\\n" not in sentences[0] and "Error" not in report
        )
        return "refused", "" if good and len(sentences[0]) < 900 else f"no sentence, {report[:300]}"
    return ("read", "") if '"report"' in report else (str(status), f"neither a report nor a sentence, {report[:300]}")


class Meter:
    """Watches the memory of the web process and of the processes that read files for it."""

    def __init__(self, server: Server) -> None:
        self.web = self.readers = 0
        self._process, self._done = psutil.Process(server.process.pid), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            try:
                self.web = max(self.web, self._process.memory_info().rss)
                for child in self._process.children():
                    if "services.parsing" in child.cmdline():
                        self.readers = max(self.readers, child.memory_info().rss)
            except psutil.Error:
                continue


def told_of(name: str, report: Report) -> list[str]:
    """Return a report as lines."""
    slowest = ", ".join(f"{seconds:.1f} s ({what[:60]})" for seconds, what in report.slowest)
    count = sum(report.statuses.values())
    return [f"{name}: {count:,} in {report.seconds:.0f} s, {dict(report.statuses)}", f"  slowest: {slowest}"]


def attack(server: Server, *, n_uploads: int, n_requests: int, seed: int) -> tuple[list[str], list[str]]:
    """Send everything, then do a search; return what was seen and what is wrong, as lines."""
    page, before = Page(server), server.memory()
    with Meter(server) as meter:
        sent = storm(server, requests(seed, n_requests, page.bodies))
        uploaded = storm(server, map(page.upload, (files if n_uploads > MANY else few)(seed, n_uploads)), upload=True)
    found, right = Page(server).search("builtin:jain", 2), expected("jain", 2)
    log, faults = server.log.read_text(errors="replace"), [*sent.faults, *uploaded.faults]
    if found != right:
        faults.append(f"the search afterwards found {found}, and {right} is right")
    if SECRET in log:
        faults.append("the secret key is in the log")
    megabytes = [f"{size / 1e6:.0f} MB" for size in (before, meter.web, server.memory(), meter.readers)]
    lines = [
        *told_of("requests", sent),
        *told_of("uploads", uploaded),
        f"memory of the web process: {megabytes[0]} before, {megabytes[1]} at most, {megabytes[2]} after",
        f"memory of a process that reads a file: {megabytes[3]} at most",
        f"the search afterwards: {len(found)} values, {'right' if found == right else 'WRONG'}",
        f"log: {len(log):,} characters, {log.count('Traceback')} traces",
    ]
    return lines, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uploads", type=int, default=2_000)
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, help="where to keep the server's log")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server is stopped too
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as server:
        lines, faults = attack(server, n_uploads=asked.uploads, n_requests=asked.requests, seed=asked.seed)
        if asked.log:
            asked.log.write_bytes(server.log.read_bytes())
    sys.stdout.write("\n".join([*lines, f"faults: {len(faults)}", *faults[:60]]) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
