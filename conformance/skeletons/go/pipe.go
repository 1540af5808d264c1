// SPDX-License-Identifier: GPL-2.0-or-later

// The pipe (docs/pipe.md): reads requests from standard input, calls the endpoint, writes answers to standard output.
// Nothing in this file has to be changed.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

const (
	reqHello, reqStart, reqPacket, reqAdvance, reqStop, reqReport, reqClose = 1, 2, 3, 4, 5, 6, 7

	ansHello, ansOutput, ansState, ansReport, ansUnsupported = 0x81, 0x82, 0x83, 0x84, 0x85

	pipeVersion, allFeatures = 1, 0x7f // what is missing the endpoint reports as unsupported
)

// Start has the fields of the request START, in their order.
type Start struct {
	active, sender, version, dataChecksum byte
	localPort, foreignPort                uint16
	bufferSize                            uint32
	packetSize, burstSize, burstInterval  uint16 // the interval in ms
	deathTimer, maxBuffers, stallFrom     uint16 // the death timer in s
	stallUntil, seed                      uint64 // a moment in us
	localAddress, foreignAddress          [4]byte
	clientString, testID                  string
	data                                  []byte
}

func giveUp(why string) {
	fmt.Fprintln(os.Stderr, "pipe:", why) // standard output carries frames only
	os.Exit(1)
}

// reader takes fields from a request.
type reader struct{ left []byte }

func (r *reader) take(count int) []byte {
	if len(r.left) < count {
		giveUp("a request is too short")
	}
	taken := r.left[:count]
	r.left = r.left[count:]
	return taken
}

func (r *reader) u8() byte     { return r.take(1)[0] }
func (r *reader) u16() uint16  { return binary.BigEndian.Uint16(r.take(2)) }
func (r *reader) u32() uint32  { return binary.BigEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64  { return binary.BigEndian.Uint64(r.take(8)) }
func (r *reader) text() string { return string(r.take(int(r.u16()))) }

func (r *reader) address() (address [4]byte) {
	copy(address[:], r.take(4))
	return address
}

func (r *reader) start() Start {
	start := Start{
		active: r.u8(), sender: r.u8(), version: r.u8(), dataChecksum: r.u8(),
		localPort: r.u16(), foreignPort: r.u16(), bufferSize: r.u32(),
		packetSize: r.u16(), burstSize: r.u16(), burstInterval: r.u16(),
		deathTimer: r.u16(), maxBuffers: r.u16(), stallFrom: r.u16(),
		stallUntil: r.u64(), seed: r.u64(), localAddress: r.address(), foreignAddress: r.address(),
		clientString: r.text(), testID: r.text(),
	}
	start.data = r.left
	return start
}

// fields is its arguments in big-endian order, each number as wide as its type, a string with its length before it.
func fields(values ...interface{}) []byte {
	var out bytes.Buffer
	for _, value := range values {
		if text, ok := value.(string); ok {
			out.Write(fields(uint16(len(text)), []byte(text)))
		} else if err := binary.Write(&out, binary.BigEndian, value); err != nil {
			giveUp(err.Error())
		}
	}
	return out.Bytes()
}

func writeFrame(sink io.Writer, kind byte, payload []byte) {
	if _, err := sink.Write(append(fields(uint32(1+len(payload)), kind), payload...)); err != nil {
		giveUp(err.Error())
	}
}

// writeState writes the packets that leave now, and the state after them. Outside of a case the endpoint is nil.
func writeState(sink io.Writer, endpoint *Endpoint) {
	if endpoint == nil {
		endpoint = &Endpoint{deadline: never}
	}
	for _, output := range endpoint.outputs {
		writeFrame(sink, ansOutput, append(output.destination[:], output.packet...))
	}
	endpoint.outputs = nil
	writeFrame(sink, ansState, fields(endpoint.deadline, endpoint.status, endpoint.reason))
}

// serveCase answers a request of the case that runs.
func serveCase(sink io.Writer, kind byte, r *reader, endpoint *Endpoint) {
	if endpoint == nil {
		giveUp("a request outside of a case")
	}
	if kind == reqReport {
		digest := sha256.Sum256(endpoint.delivered)
		writeFrame(sink, ansReport, fields(uint64(len(endpoint.delivered)), digest, endpoint.peerString))
		return
	}
	now := r.u64()
	switch kind {
	case reqPacket:
		source := r.address()
		endpoint.onPacket(now, source, r.left)
	case reqAdvance:
		endpoint.advance(now)
	case reqStop:
		abort := r.u8() != 0
		if err := endpoint.stop(now, abort, r.text()); err != nil {
			writeFrame(sink, ansUnsupported, []byte(err.Error()))
			return
		}
	default:
		giveUp("a request of unknown kind")
	}
	writeState(sink, endpoint)
}

// serve answers one request and returns the endpoint of the case that runs, nil without one.
func serve(sink io.Writer, kind byte, r *reader, endpoint *Endpoint) *Endpoint {
	switch kind {
	case reqHello:
		writeFrame(sink, ansHello, fields(uint16(pipeVersion), uint32(allFeatures), "skeleton in Go"))
	case reqStart:
		now := r.u64()
		begun, err := newEndpoint(r.start(), now)
		if err != nil {
			writeFrame(sink, ansUnsupported, []byte(err.Error()))
			return nil
		}
		writeState(sink, begun)
		return begun
	case reqClose:
		writeState(sink, nil)
		return nil
	default:
		serveCase(sink, kind, r, endpoint)
	}
	return endpoint
}

func main() {
	source, sink := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	var endpoint *Endpoint
	for {
		var head [4]byte
		if _, err := io.ReadFull(source, head[:]); err != nil {
			return // the suite has ended
		}
		body := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(source, body); err != nil || len(body) == 0 {
			giveUp("a request is cut off or empty")
		}
		endpoint = serve(sink, body[0], &reader{body[1:]}, endpoint)
		if err := sink.Flush(); err != nil {
			return
		}
	}
}
