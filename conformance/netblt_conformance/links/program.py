# SPDX-License-Identifier: GPL-2.0-or-later
"""The implementation as a program: its command line, how it shows that it is ready, how it ended, what it wrote."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from netblt_conformance.adapter.adapter import Adapter, WireRole
from netblt_conformance.common.child import die_with_parent
from netblt_conformance.common.errors import HarnessError, ImplementationError, NotSupportedError
from netblt_conformance.common.model import Digest, Start, Status, Stop
from netblt_conformance.links.base import Account
from netblt_conformance.links.client import StallingClient, stalling_client
from netblt_conformance.links.process import Process, adopt_orphans, children
from netblt_conformance.links.stamps import StallMeter
from netblt_conformance.links.transport import Surroundings

EXIT_NOT_SUPPORTED = 127
_LOOK_AGAIN_S = 0.002
_FOLDER = "netblt-wire-"


def remove_leftovers() -> None:
    """Folders of suites that were killed: the kernel ends programs and namespaces, but it removes no files."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*-*"):
        owner = folder.name.removeprefix(_FOLDER).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(folder, ignore_errors=True)


class Program:
    """One program for one case, in one role."""

    def __init__(self, adapter: Adapter, surroundings: Surroundings, meter: StallMeter, *, role_works: bool) -> None:
        """`role_works`: a transfer in this role has run before, so exit status 127 can mean what it stands for."""
        self._adapter = adapter
        self._surroundings = surroundings
        self._meter = meter
        self._role_works = role_works
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-"))
        self._process: Process | None = None
        self._role = WireRole()
        self._values: dict[str, str] = {}
        self._environment: dict[str, str] = {}
        self._fetched = False
        self._command: tuple[str, ...] = ()
        self._others: set[int] = set()  # children of this process that are not its own
        self._client: StallingClient | None = None

    # ---- start ----

    def start(self, start: Start, role: WireRole, stall_until_s: float | None = None) -> None:
        """`stall_until_s`: its client stalls until then (monotonic clock); None: never."""
        self._role = role
        if stall_until_s is not None:
            if role.stall_file is None:
                raise NotSupportedError("the adapter has no stall_file for this role: its client cannot be stalled")
            self._client = stalling_client(start, stall_until_s)
        if start.role.sender:
            (self._folder / "in").write_bytes(start.data)
        self._values = {**self._parameters(start), **self._surroundings.values()}
        if self._client is not None:
            self._values["file_in"] = self._values["file_out"] = role.stall_file or ""
        self._environment = {**self._adapter.environment, **role.environment, "NETBLT_TEST_ID": start.test_id}
        self._hook("before", role.before)
        if not role.command:
            return
        command = self._adapter.expand(role.command, self._values)
        self._command = tuple(command)

        def before_exec() -> None:
            self._surroundings.before_exec()
            die_with_parent()

        adopt_orphans()
        self._others = children()
        client = self._client.program_end if self._client is not None else None
        try:
            self._process = Process(
                command,
                self._environment,
                before_exec,
                folder=self._folder,
                given_input=client if start.role.sender else None,
                given_output=None if start.role.sender else client,
            )
        except OSError as error:
            raise HarnessError(f"{self._adapter.path.name}: {command[0]}: {error.strerror}") from None
        if self._client is not None:
            self._client.start()
        if not start.role.active and self._adapter.remote is None:
            self._await_ready()

    def _parameters(self, start: Start) -> dict[str, str]:
        p = start.parameters
        return {
            "test_id": start.test_id,
            "encapsulation": self._surroundings.encapsulation.value,
            "local_port": str(start.local_port),
            "peer_port": str(start.foreign_port),
            "file_in": str(self._folder / "in"),
            "file_out": str(self._folder / "out"),
            "buffer_size": str(p.buffer_size),
            "packet_size": str(p.packet_size),
            "burst_size": str(p.burst_size),
            "burst_interval_ms": str(p.burst_interval_ms),
            "death_timer_s": str(p.death_timer_s),
            "max_buffers": str(p.max_buffers),
            "version": str(p.version),
            "client_string": p.client_string,
            "data_checksum": "1" if p.data_checksum else "",
        }

    def _hook(self, name: str, template: tuple[str, ...]) -> None:
        """Runs a hook to its end."""
        if not template:
            return
        command = self._adapter.expand(template, self._values)
        limit_s = self._adapter.remote.hook_limit_s if self._adapter.remote else None
        process = None
        try:
            process = Process(command, self._environment, die_with_parent, folder=self._folder)
            code = process.popen.wait(limit_s)
            words = process.last_words()
        except OSError as error:
            raise HarnessError(f"{self._adapter.path.name}: {name}: {command[0]}: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise HarnessError(
                f"{self._adapter.path.name}: {name}: {command[0]} runs for more than {limit_s:g} s"
            ) from None
        finally:
            if process is not None:
                process.free()
        if code != 0:
            raise HarnessError(
                f"{self._adapter.path.name}: {name}: {command[0]} failed: {words or f'exit status {code}'}"
            )

    def _await_ready(self) -> None:
        """A passive end is ready when it reports it (ready_output), else when it has a socket; and ready_delay_s
        later."""
        process, role = self._running, self._role
        give_up = time.monotonic() + role.ready_s
        while not self._is_ready(process, role):
            self.look_for_end()
            if self.has_ended:
                raise HarnessError(f"{process.command[0]} does not listen: {self.ending()}")
            if time.monotonic() >= give_up and self._client is not None:
                raise NotSupportedError("it does not listen before its client has given everything")
            if time.monotonic() >= give_up:
                what = f"print {role.ready_output.pattern!r}" if role.ready_output else "listen"
                raise HarnessError(f"{process.command[0]} did not {what} within {role.ready_s:g} s (wire.ready_s)")
            time.sleep(_LOOK_AGAIN_S)
        time.sleep(role.ready_delay_s)

    def _is_ready(self, process: Process, role: WireRole) -> bool:
        if role.ready_output is not None:
            return bool(role.ready_output.search(self._said()))
        return any(self._surroundings.listens(pid) for pid in (process.popen.pid, *self._orphans()))

    # ---- the end ----

    @property
    def started(self) -> bool:
        """Whether a command plays this role; else it runs somewhere already."""
        return self._process is not None

    @property
    def has_ended(self) -> bool:
        """Whether it was started here and has ended, with all that it has left in the background. A remote end may be
        more than the command that triggers it."""
        if self._process is None or self._adapter.remote is not None:
            return False
        return self._process.exit_code is not None and not self._orphans()

    def _orphans(self) -> set[int]:
        """Processes of the program that still run after it has ended."""
        if self._process is None or self._process.exit_code is None:
            return set()
        return children() - self._others

    def _end_orphans(self) -> None:
        while orphans := self._orphans():
            for pid in orphans:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)

    @property
    def _running(self) -> Process:
        if self._process is None:
            raise NotSupportedError("the program was not started by the suite: the outcome of its client is not known")
        return self._process

    def _said(self) -> str:
        return self._running.output() + "\n" + self._running.errors()

    def ending(self) -> str:
        """How it ended, and the last lines of its standard error; empty while it runs."""
        if self._process is None or not self.has_ended:
            return ""
        words = self._process.last_words()
        return f"the program ended with {self._process.how_it_ended()}" + (
            f", standard error: {words}" if words else ""
        )

    def look_for_end(self) -> None:
        """Raises when the program ended in a way that is no outcome of a transfer."""
        process = self._process
        if process is None:
            return
        if process.popen.returncode is None:
            self._meter.look_at(process.popen.pid)
        code = process.exit_code
        if code is None:
            return
        words = process.last_words()
        fault = process.fault()
        if fault is not None:
            raise ImplementationError(fault + (f": {words}" if words and words not in fault else ""))
        if code == EXIT_NOT_SUPPORTED:
            raise self._says_not_supported(process, words)
        if code in self._role.usage_exit:
            raise HarnessError(f"{process.command[0]} refuses its command line: {words or f'exit status {code}'}")

    def _says_not_supported(self, process: Process, words: str) -> Exception:
        """A shell ends with 127 when it does not find a program, so the word counts only for a role that has run."""
        if self._role_works:
            return NotSupportedError(words or "the program reports this with exit status 127")
        return HarnessError(
            f"{process.command[0]} ended with exit status 127, which means not supported, but no transfer has run in "
            f"this role: is the command right ({self._adapter.path.name})? {words}".rstrip()
        )

    def status(self) -> Status:
        process, role = self._running, self._role
        self.look_for_end()
        code = None if self._orphans() else process.exit_code
        if role.failure_output is not None and role.failure_output.search(self._said()):
            return Status.FAILED if code is None else Status.CLOSED_FAILED
        said = role.success_output is None or bool(role.success_output.search(self._said()))
        if code is None:
            return Status.DONE if role.success_output is not None and said else Status.OPEN
        return Status.CLOSED_DONE if code in role.success_exit and said else Status.CLOSED_FAILED

    def reason(self) -> str:
        if self._process is None:
            return ""
        return self.ending() or self._process.last_words()

    def digest(self) -> Digest:
        role = self._role
        if self._adapter.remote is not None and not role.after:
            raise NotSupportedError("it runs elsewhere and the adapter has no `after` that fetches what was delivered")
        if role.after and not self._fetched:
            self._fetched = True
            self._hook("after", role.after)
        if self._client is not None:
            return Digest.of(self._client.received)
        try:
            return Digest.of((self._folder / "out").read_bytes())
        except OSError:
            return Digest.of(b"")

    def account(self) -> Account:
        return self._process.account() if self._process is not None else Account(self._command)

    def stop(self, how: Stop) -> None:
        if how is not Stop.QUIT or self._adapter.quit_signal is None:
            raise NotSupportedError(f"the adapter knows no way to {how.value}")
        self._running.popen.send_signal(signal.Signals[self._adapter.quit_signal])

    def close(self, *, then: Callable[[], None]) -> None:
        """Ends the program. ImplementationError when it had crashed; `then` runs in any case."""
        fault = None
        if self._process is not None:
            if self._process.popen.returncode is None:
                self._meter.look_at(self._process.popen.pid)
            fault = self._process.fault() if self._process.exit_code is not None else None
            with contextlib.suppress(OSError):
                self._process.end()
                self._end_orphans()
                self._process.free()
            self._process = None
        if self._client is not None:
            self._client.close()
            self._client = None
        shutil.rmtree(self._folder, ignore_errors=True)
        then()
        if fault is not None:
            raise ImplementationError(fault)
