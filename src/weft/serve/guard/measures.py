"""What Prometheus reads at ``/metrics``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.process_collector import ProcessCollector

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Measures:
    """Counts of one service.

    Args:
        jobs: How many jobs there are in each state.
    """

    media = CONTENT_TYPE_LATEST

    def __init__(self, jobs: Callable[[], Mapping[str, int]]) -> None:
        self._registry = CollectorRegistry()
        names = ("method", "route", "status")
        self._requests = Counter("weft_requests", "Requests answered.", names, registry=self._registry)
        self._seconds = Histogram(
            "weft_request_seconds", "Time to answer.", ("route",), buckets=_BUCKETS, registry=self._registry
        )
        self._finished = Counter(
            "weft_jobs_finished", "Jobs ended.", ("kind", "state"), registry=self._registry
        )
        self.waiting = Gauge("weft_questions_waiting", "Questions before a worker.", registry=self._registry)
        ProcessCollector(registry=self._registry)
        self._registry.register(_Jobs(jobs))

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered; what is no route of ours is counted as one."""
        method = method if method in ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS") else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def job(self, kind: str, state: str) -> None:
        """A job ended."""
        self._finished.labels(kind, state).inc()

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)


class _Jobs:
    def __init__(self, counts: Callable[[], Mapping[str, int]]) -> None:
        self._counts = counts

    def collect(self) -> list[GaugeMetricFamily]:
        family = GaugeMetricFamily("weft_jobs", "Jobs by state.", labels=["state"])
        for state, count in self._counts().items():
            family.add_metric([state], count)
        return [family]
