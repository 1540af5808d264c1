# SPDX-License-Identifier: GPL-2.0-or-later
"""The pipe link: a program in any language that speaks the frames of docs/pipe.md on its standard input and output."""

from __future__ import annotations

import os
import select
import time

from netblt_conformance import __version__
from netblt_conformance.adapter.adapter import Adapter, capped
from netblt_conformance.common.errors import HarnessError, ImplementationError, LinkUnavailableError, NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_MS, Digest, Feature, Role, Start, Status, Stop
from netblt_conformance.common.words import WORDS_MAX, printable
from netblt_conformance.links import pipeframes as frames
from netblt_conformance.links.base import NEVER_US, Account, LinkFactory
from netblt_conformance.links.pipeframes import FeatureBit, Kind
from netblt_conformance.links.pipetrace import PipeTrace
from netblt_conformance.links.process import Process
from netblt_conformance.links.virtual import DEFAULT_DELAY_US, STORM_PACKETS, Output, SteppedEndpoint, VirtualLink
from netblt_conformance.packets.capture import Capture

# An endpoint only has to compute: an answer that takes longer than this is a hang.
ANSWER_TIMEOUT_S = 20.0
# The rest of a line that was begun comes within this.
TEXT_WAIT_S = 0.2
# Fewer than this may be the length of a frame by chance.
TEXT_LEAST_CHARACTERS = 2

_ROLE_BITS = {
    (True, True): FeatureBit.ACTIVE_SENDER,
    (True, False): FeatureBit.ACTIVE_RECEIVER,
    (False, True): FeatureBit.PASSIVE_SENDER,
    (False, False): FeatureBit.PASSIVE_RECEIVER,
}
_FEATURES = {
    FeatureBit.CLIENT_STALL: Feature.CLIENT_STALL,
    FeatureBit.QUIT: Feature.QUIT,
    FeatureBit.ABORT: Feature.ABORT,
}


def _text_in(written: bytes) -> str:
    """The line of text that these bytes begin with; empty when they begin with something else."""
    line = written.lstrip(b"\n").partition(b"\n")[0].partition(b"\0")[0]
    text = line.decode("utf-8", "replace").strip()
    is_text = len(text) >= TEXT_LEAST_CHARACTERS and "\ufffd" not in text and text.isprintable()
    return printable(text) if is_text else ""


def _wrote_text(text: str) -> ImplementationError:
    return ImplementationError(
        f"wrote text on the pipe: {text!r}. Standard output carries frames only: print to standard error "
        "(see docs/pipe.md)"
    )


class PipeEndpoint(SteppedEndpoint):
    """One program; it plays one case after the other (START ... CLOSE) and is started again after a crash."""

    def __init__(self, adapter: Adapter, trace: PipeTrace | None = None) -> None:
        self._adapter = adapter
        self._trace = trace
        self._process = Process(adapter.pipe_command(), adapter.environment, piped=True)
        self._inbox = bytearray()
        self._state = frames.State(NEVER_US, Status.OPENING, "")
        self._open = False
        try:
            self._write(frames.hello(f"netblt-conformance {__version__}"))
            self.hello = self._read_hello()
        except (HarnessError, ImplementationError):
            self._process.free()
            raise
        self.features = frozenset(feature for bit, feature in _FEATURES.items() if bit & self.hello.features)
        self.features -= adapter.pics.lacks

    def _read_hello(self) -> frames.Hello:
        kind, payload = self._read_frame()
        if kind is not Kind.HELLO_ANSWER:
            raise ImplementationError(f"answered HELLO with {kind.name}")
        hello = frames.parse_hello(payload)
        if hello.version != frames.PIPE_VERSION:
            raise HarnessError(f"speaks pipe version {hello.version}, this suite speaks {frames.PIPE_VERSION}")
        return hello

    def plays(self, role: Role) -> bool:
        return bool(_ROLE_BITS[role.active, role.sender] & self.hello.features)

    @property
    def alive(self) -> bool:
        return self._process.exit_code is None

    # ---- frames ----

    def _write(self, data: bytes) -> None:
        stream, answers = self._process.popen.stdin, self._process.popen.stdout
        assert stream is not None
        assert answers is not None
        if self._inbox or (select.select([answers.fileno()], [], [], 0)[0] and self._more(answers.fileno())):
            text = _text_in(bytes(self._inbox))
            what = f"text, {text!r}" if text else f"{len(self._inbox)} bytes, {bytes(self._inbox[:16]).hex(' ')}"
            raise ImplementationError(
                f"sent a frame without a request: after its answer there is {what} (see docs/pipe.md)"
            )
        if self._trace is not None:
            self._trace.request(self._process.popen.pid, data)
        try:
            stream.write(data)
            stream.flush()
        except (BrokenPipeError, ValueError):
            raise self._died("while it was written to") from None

    def _more(self, descriptor: int) -> bytes:
        """What has come; nothing at the end of the stream."""
        chunk = os.read(descriptor, 1 << 16)
        self._inbox += chunk
        return chunk

    def _read_frame(self) -> tuple[Kind, bytes]:
        (length,) = frames.LENGTH.unpack(self._read_bytes(frames.LENGTH.size))
        if not 1 <= length <= frames.FRAME_MAX_BYTES:
            raise self._out_of_step(frames.LENGTH.pack(length))
        body = self._read_bytes(length)
        try:
            kind = Kind(body[0])
        except ValueError:
            raise ImplementationError(
                f"sent a pipe frame of unknown kind 0x{body[0]:02x} and {length} bytes (see docs/pipe.md)"
            ) from None
        if self._trace is not None:
            self._trace.answer(self._process.popen.pid, kind, body[1:])
        return kind, body[1:]

    def _out_of_step(self, head: bytes) -> ImplementationError:
        """There is no valid length of a frame: mostly the program prints to standard output."""
        stream = self._process.popen.stdout
        assert stream is not None
        until = time.monotonic() + TEXT_WAIT_S
        while b"\n" not in head + self._inbox and len(self._inbox) < WORDS_MAX:
            left_s = until - time.monotonic()
            if (
                left_s <= 0
                or not select.select([stream.fileno()], [], [], left_s)[0]
                or not self._more(stream.fileno())
            ):
                break
        written = head + bytes(self._inbox)
        text = _text_in(written)
        if text:
            return _wrote_text(text)
        return ImplementationError(
            f"sent a pipe frame of {int.from_bytes(head, 'big')} bytes, {frames.FRAME_MAX_BYTES} are the most: "
            f"the bytes are {written[:16].hex(' ')} (see docs/pipe.md)"
        )

    def _read_bytes(self, count: int) -> bytes:
        stream = self._process.popen.stdout
        assert stream is not None
        give_up = time.monotonic() + ANSWER_TIMEOUT_S
        while len(self._inbox) < count:
            ready, _, _ = select.select([stream.fileno()], [], [], max(0.0, give_up - time.monotonic()))
            if ready and self._more(stream.fileno()):
                continue
            text = _text_in(bytes(self._inbox))
            if text:
                raise _wrote_text(text)
            if ready:
                raise self._died("before its answer was complete")
            raise ImplementationError(f"hangs: no answer on the pipe within {ANSWER_TIMEOUT_S:.0f} s")
        taken = bytes(self._inbox[:count])
        del self._inbox[:count]
        return taken

    def _died(self, when: str) -> ImplementationError:
        code = self._process.wait(2.0)
        end = "closed its end of the pipe" if code is None else f"ended with exit code {code}"
        how = self._process.fault() or end
        self._process.end()
        words = self._process.last_words()
        return ImplementationError(f"{how} {when}" + (f": {words}" if words else ""))

    def _exchange(self, request: bytes, *, may_lack: bool = False) -> list[Output]:
        """Sends a request; collects the OUTPUT frames up to the STATE that ends the answer. `may_lack`: UNSUPPORTED may
        take the place of the whole answer; elsewhere it would turn a FAIL into N/A."""
        self._write(request)
        output: list[Output] = []
        while True:
            kind, payload = self._read_frame()
            if kind is Kind.OUTPUT:
                output.append(frames.parse_output(payload))
                if len(output) > STORM_PACKETS:
                    raise ImplementationError(f"sends more than {STORM_PACKETS} packets at one moment")
            elif kind is Kind.STATE:
                self._state = frames.parse_state(payload)
                return output
            elif kind is Kind.UNSUPPORTED and may_lack and not output:
                raise NotSupportedError(payload.decode("utf-8", "replace") or "not supported")
            else:
                asked = Kind(request[frames.LENGTH.size]).name
                after = f" after {len(output)} OUTPUT" if output else ""
                raise ImplementationError(
                    f"answered {asked} with {kind.name}{after}, where OUTPUT or STATE is due (see docs/pipe.md)"
                )

    # ---- SteppedEndpoint ----

    def start(self, start: Start, now_us: int) -> list[Output]:
        if not self.plays(start.role):
            raise NotSupportedError(f"{self.hello.name} does not play {start.role}")
        start = capped(start, self._adapter.pics)
        self._open = True
        return self._exchange(frames.start(start, now_us), may_lack=True)

    def packet(self, source: bytes, packet: bytes, now_us: int) -> list[Output]:
        return self._exchange(frames.packet(source, packet, now_us))

    def advance(self, now_us: int) -> list[Output]:
        return self._exchange(frames.advance(now_us))

    def stop(self, how: Stop, reason: str, now_us: int) -> list[Output]:
        return self._exchange(frames.stop(how, reason, now_us), may_lack=True)

    def deadline_us(self) -> int:
        return self._state.deadline_us

    def status(self) -> Status:
        return self._state.status

    def reason(self) -> str:
        return self._state.reason

    def _report(self) -> frames.Report:
        self._write(frames.frame(Kind.REPORT))
        kind, payload = self._read_frame()
        if kind is not Kind.REPORT_ANSWER:
            raise ImplementationError(f"answered REPORT with {kind.name}")
        return frames.parse_report(payload)

    def digest(self) -> Digest:
        return self._report().digest

    def peer_string(self) -> str | None:
        return self._report().peer_string

    def account(self) -> Account:
        return self._process.account()

    def close(self) -> None:
        """Ends the case, not the program."""
        if self._open and self.alive:
            try:
                self._exchange(frames.frame(Kind.CLOSE))
            except (ImplementationError, HarnessError, NotSupportedError):
                self._process.end()
        self._open = False
        self._state = frames.State(NEVER_US, Status.OPENING, "")

    def end(self) -> None:
        self._process.free()


class PipeLinkFactory(LinkFactory):
    """Keeps one program running for all cases."""

    name = "pipe"
    delay_us: int

    def __init__(self, adapter: Adapter, delay_us: int = DEFAULT_DELAY_US, trace: PipeTrace | None = None) -> None:
        self.adapter: Adapter = adapter
        self.tolerances = adapter.pixit.tolerances
        self._trace = trace
        self.delay_us = delay_us
        self._endpoint: PipeEndpoint | None = None
        self._name = ""

    def check(self) -> None:
        """Starts the program once and ends it again: each worker starts its own."""
        try:
            endpoint = PipeEndpoint(self.adapter, self._trace)
            self._name = endpoint.hello.name
            endpoint.end()
        except (OSError, HarnessError, ImplementationError) as error:
            raise LinkUnavailableError(f"{self.adapter.path}: the pipe program cannot be used: {error}") from None

    def testing(self) -> dict[str, str]:
        program = " ".join(self.adapter.pipe_command())
        version = self.adapter.version() or printable(self._name)
        found = {"name": self.adapter.name, "program": program, "version": version, "link": self.name}
        return {key: value for key, value in found.items() if value}

    def endpoint(self) -> PipeEndpoint:
        if self._endpoint is None or not self._endpoint.alive:
            if self._endpoint is not None:
                self._endpoint.end()
            self._endpoint = PipeEndpoint(self.adapter, self._trace)
        return self._endpoint

    @property
    def schedule(self) -> dict[str, str]:
        return {"delay": f"{self.delay_us / MICROSECONDS_PER_MS:g} ms"}

    def make(self, capture: Capture) -> VirtualLink:
        return VirtualLink("pipe", self.endpoint(), capture, self.delay_us, self.tolerances)

    def end_endpoint(self) -> None:
        if self._endpoint is not None:
            self._endpoint.end()
