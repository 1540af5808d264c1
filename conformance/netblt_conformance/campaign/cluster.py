# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a campaign runs: worker processes of this machine, or the scheduler of a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from netblt_conformance.campaign.errors import CampaignError, library
from netblt_conformance.campaign.worker import temporary_folder
from netblt_conformance.common.ending import signals_wait

LOOPBACK = "127.0.0.1"
# A block whose worker dies is given to another one so many times, before it counts as one attempt that failed.
DEATHS = 9
# Dask looks at itself 100 times a second (profile, memory, load), which costs more than to run blocks. Local workers
# are short of nothing that it would find.
LOCAL = {
    "distributed.scheduler.allowed-failures": DEATHS,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.work-stealing-interval": "1s",
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "10s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.cycle": "10s",
}
CONNECT_S = 15.0
WORKERS_S = 60.0
_TLS = "tls://"


@dataclass(frozen=True, slots=True)
class Tls:
    """The certificates of a cluster."""

    ca: Path
    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Where:
    """`scheduler`: its address; empty: `workers` processes of this machine."""

    workers: int = 1
    scheduler: str = ""
    tls: Tls | None = None

    @property
    def local(self) -> bool:
        return not self.scheduler


@contextlib.contextmanager
def connected(where: Where) -> Iterator[Any]:
    """A Dask client with at least one worker. CampaignError when there is none."""
    distributed, dask = library("distributed"), library("dask")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what happens to workers is shown as progress
    if where.local:
        with dask.config.set(LOCAL), _local(distributed, dask, where) as client:
            yield client
        return
    try:
        client = distributed.Client(where.scheduler, timeout=CONNECT_S, security=_security(distributed, where))
    except (OSError, TimeoutError, ValueError) as error:
        raise CampaignError(f"no scheduler can be reached at {where.scheduler}: {error}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKERS_S)
        except TimeoutError:
            raise CampaignError(
                f"no worker has connected to the scheduler {where.scheduler} in {WORKERS_S:g} s: start `dask worker "
                f"{where.scheduler}` on each machine"
            ) from None
        yield client


def _security(distributed: Any, where: Where) -> Any:
    if where.tls is None:
        if where.scheduler.startswith(_TLS):
            raise CampaignError(f"{where.scheduler} needs certificates: give --tls-ca, --tls-cert and --tls-key")
        return None
    for path in (where.tls.ca, where.tls.certificate, where.tls.key):
        if not path.is_file():
            raise CampaignError(f"{path}: no such file")
    return distributed.Security(
        tls_ca_file=str(where.tls.ca),
        tls_client_cert=str(where.tls.certificate),
        tls_client_key=str(where.tls.key),
        require_encryption=True,
    )


@contextlib.contextmanager
def _local(distributed: Any, dask: Any, where: Where) -> Iterator[Any]:
    """Scheduler and workers listen on the loopback interface only. Each worker has a nanny that starts it again."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        stack.enter_context(dask.config.set({"temporary-directory": folder}))
        resource_tracker.ensure_running()  # its start would let signals through
        with signals_wait():  # workers inherit it: Ctrl-C of the terminal is for the command, which ends them
            cluster = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=where.workers,
                    threads_per_worker=1,
                    processes=True,
                    host=LOOPBACK,
                    dashboard_address=f"{LOOPBACK}:0",  # any port that is free
                    silence_logs=logging.CRITICAL,
                    memory_limit=0,
                    env={"TMPDIR": folder},
                )
            )
        yield stack.enter_context(distributed.Client(cluster))
