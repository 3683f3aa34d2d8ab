"""A project on a cluster, and a worker that goes down in the middle of a refresh."""

from __future__ import annotations

import threading
import time
from typing import Any

from integration_tests.servers.cluster import Cluster
from tests.integration.test_tpch import (  # noqa: F401
    test_a_run_without_changes_writes_nothing,
    test_the_first_build_shows_the_queries_results,
    test_views_follow_a_round_of_changes,
    tpch,
)
from tests.spark.conftest import bench as bench
from tests.spark.workbench import FEED, Bench

ROWS = 800_000


def test_a_worker_that_goes_down_changes_nothing(bench: Bench, cluster: Cluster) -> None:
    bench.sql(
        f"create table r using delta {FEED} as select id % 1000 as k, id as v from range({ROWS})",
        f"create table d using delta {FEED} as select id as k, id % 7 as g from range(1000)",
    )
    view = bench.view("select g, count(*) as n, max(v) as m from r join d using (k) group by g")
    bench.sql(f"update r set v = v + 1 where k < 500 or v > {ROWS // 2}")
    outcomes: list[Any] = []
    refreshing = threading.Thread(target=lambda: outcomes.append(view.run()))
    refreshing.start()
    tracker = bench.handle.session.sparkContext.statusTracker()
    at_work = False
    while refreshing.is_alive() and not at_work:
        time.sleep(0.02)
        stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
        at_work = any(stage is not None and stage.numActiveTasks for stage in stages)
    assert refreshing.is_alive(), "the refresh was over before the worker went down"
    cluster.kill_a_worker()
    refreshing.join(timeout=300)
    assert outcomes, "the refresh failed or hangs"
    assert outcomes[0].refresh.strategy.merges or outcomes[0].refresh.strategy.value == "full"
    view.check()
    bench.sql("delete from r where k = 7")
    view.refresh(None)
    view.refresh("noop")
