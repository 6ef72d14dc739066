"""Numbers for operators, in Prometheus's text format.

Entry point: `Metrics`. What the stores know (runs by state, the queue, slots, disk use) is read when asked for; what
happens to requests is counted in each web process, and summed up over them where there are several (see
`services.shared_counts`).
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator

from flask import Flask, Response, g, request
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from services.context import Services
from services.disk import size_of
from services.shared_counts import FOLDER

STATES = ("queued", "running", "finished", "cancelled", "failed", "interrupted")
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class StoreCollector(Collector):
    """What the stores hold, read anew for every scrape."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self) -> Iterator[Metric]:
        """Return the gauges and totals."""
        census, settings = self._services.runs.census(), self._services.settings
        runs = GaugeMetricFamily("offgrid_runs", "Runs in the store, by state.", labels=["state"])
        for state in STATES:
            runs.add_metric([state], census.states.get(state, 0))
        ended = CounterMetricFamily("offgrid_searches", "Searches that have ended.", labels=["outcome"])
        for outcome, count in census.ended.items():
            ended.add_metric([outcome], count)
        disk = GaugeMetricFamily("offgrid_disk_bytes", "What each store takes on the disk.", labels=["store"])
        disk.add_metric(["runs"], sum(file.stat().st_size for file in settings.data_dir.glob("runs.sqlite3*")))
        for name in ("uploads", "cache", "background"):
            disk.add_metric([name], size_of(settings.data_dir / name))
        free = shutil.disk_usage(settings.data_dir).free
        yield from (runs, ended, disk)
        yield GaugeMetricFamily("offgrid_disk_free_bytes", "Room left on the disk of the data folder.", free)
        yield GaugeMetricFamily("offgrid_slots", "Searches that may run at once.", self._services.slots)
        yield GaugeMetricFamily("offgrid_slots_in_use", "Searches that run.", census.states.get("running", 0))
        yield GaugeMetricFamily("offgrid_queue_length", "Searches that wait.", census.states.get("queued", 0))
        yield CounterMetricFamily("offgrid_search_seconds", "Seconds spent searching.", census.seconds)


class Metrics:
    """Counts the requests of a server, and answers with everything.

    Parameters
    ----------
    services : Services
    """

    def __init__(self, services: Services) -> None:
        self._own = CollectorRegistry()
        self._stores = CollectorRegistry()
        self._stores.register(StoreCollector(services))
        self._requests = Counter("offgrid_http_requests", "Requests answered.", ["kind", "status"], registry=self._own)
        self._seconds = Histogram(
            "offgrid_http_request_seconds", "Time to an answer.", ["kind"], registry=self._own, buckets=BUCKETS
        )

    def count(self, server: Flask, prefix: str) -> None:
        """Count every request of the server from now on."""

        @server.before_request
        def begin() -> None:
            g.began = time.perf_counter()

        @server.after_request
        def note(response: Response) -> Response:
            kind = kind_of(request.path, prefix)
            self._requests.labels(kind, str(response.status_code)).inc()
            self._seconds.labels(kind).observe(time.perf_counter() - g.get("began", time.perf_counter()))
            return response

    def answer(self) -> Response:
        """Return everything as text."""
        requests = self._own
        if FOLDER in os.environ:
            requests = CollectorRegistry()
            MultiProcessCollector(requests)
        text = generate_latest(self._stores) + generate_latest(requests)
        return Response(text, content_type=CONTENT_TYPE_LATEST)


def kind_of(path: str, prefix: str) -> str:
    """Return what a request is for, one of a few words."""
    rest = path.removeprefix(prefix.rstrip("/"))
    if rest.startswith("/_dash-update-component"):
        return "update"
    if rest.startswith(("/assets/", "/_dash-component-suites/", "/_favicon")):
        return "file"
    if rest in ("/healthz", "/readyz", "/metrics"):
        return "operation"
    return "page"
