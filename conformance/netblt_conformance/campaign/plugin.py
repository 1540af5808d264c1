# SPDX-License-Identifier: GPL-2.0-or-later
"""The Dask plugin that brings a campaign to each worker, also to one that starts later. Imports Dask."""

from __future__ import annotations

import signal
import threading
from typing import Any

from distributed import WorkerPlugin

from netblt_conformance.campaign.worker import Package, arrive, leave


class Delivery(WorkerPlugin):  # type: ignore[misc]  # Dask has no types here
    """Carries the package."""

    def __init__(self, package: Package, *, local: bool) -> None:
        """`local`: the workers are processes of the command."""
        self.name = f"netblt-campaign-{package.id}"
        self._package = package
        self._local = local

    def setup(self, worker: Any) -> None:
        del worker
        if self._local and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command, which ends its workers
        arrive(self._package)

    def teardown(self, worker: Any) -> None:
        del worker
        leave(self._package.id)
