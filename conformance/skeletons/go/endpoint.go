// SPDX-License-Identifier: GPL-2.0-or-later

// A skeleton of a NETBLT endpoint: a passive receiver that refuses every OPEN. Replace its parts by calls of your
// implementation. The file pipe.go reads and writes the pipe and stays as it is.
package main

import (
	"encoding/binary"
	"errors"
	"math"
)

const (
	typeOpen, typeRefused  = 0, 10
	headerBytes, openBytes = 12, 36
	never                  = math.MaxUint64
)

// The states of a case (docs/pipe.md).
const (
	statusOpening = iota
	statusOpen
	statusDone
	statusFailed
	statusClosedDone
	statusClosedFailed
)

// Output is a packet to send and the address to which it goes.
type Output struct {
	destination [4]byte
	packet      []byte
}

// Endpoint is one end of one transfer. Moments are microseconds since the case began.
type Endpoint struct {
	start      Start
	outputs    []Output // pipe.go empties it
	deadline   uint64   // next: the moment of the earliest timer that runs
	status     byte
	reason     string
	delivered  []byte
	peerString string
}

// newEndpoint begins a case. An error makes the answer UNSUPPORTED: the case is N/A.
func newEndpoint(start Start, now uint64) (*Endpoint, error) {
	if start.active != 0 || start.sender != 0 {
		return nil, errors.New("only a passive receiver is implemented")
	}
	if start.stallUntil != 0 {
		return nil, errors.New("a client that stalls is not implemented")
	}
	return &Endpoint{start: start, deadline: never, status: statusOpening}, nil
}

// onPacket takes a packet that arrived.
// Next: answer an OPEN by a RESPONSE and a CONTROL packet with GO, and take DATA and LDATA (RFC 998 section 5).
func (e *Endpoint) onPacket(now uint64, source [4]byte, packet []byte) {
	if len(packet) < openBytes || packet[3] != typeOpen {
		return
	}
	length := int(binary.BigEndian.Uint16(packet[4:]))
	if length < openBytes || length > len(packet) || onesSum(packet[:length]) != 0xffff {
		return
	}
	theirs, ours := binary.BigEndian.Uint16(packet[6:]), binary.BigEndian.Uint16(packet[8:])
	reason := "not implemented yet\x00"
	if ours != e.start.localPort {
		reason = "nobody listens on this port\x00"
	}
	refused := newPacket(typeRefused, e.start.version, ours, theirs, []byte(reason))
	e.outputs = append(e.outputs, Output{source, refused})
}

// advance runs the timers that are due.
// Next: retransmit the CONTROL packet, request missing packets, send KEEPALIVE, detect a dead peer.
func (e *Endpoint) advance(now uint64) {}

// stop quits or aborts for the client. An error makes the answer UNSUPPORTED.
func (e *Endpoint) stop(now uint64, abort bool, reason string) error {
	return errors.New("the client cannot quit or abort yet")
}

// newPacket is a NETBLT packet: header, checksum, and zeros up to a multiple of 4 bytes.
func newPacket(kind, version byte, localPort, foreignPort uint16, body []byte) []byte {
	packet := make([]byte, headerBytes, headerBytes+len(body)+3)
	packet[2], packet[3] = version, kind
	binary.BigEndian.PutUint16(packet[4:], uint16(headerBytes+len(body)))
	binary.BigEndian.PutUint16(packet[6:], localPort)
	binary.BigEndian.PutUint16(packet[8:], foreignPort)
	packet = append(packet, body...)
	binary.BigEndian.PutUint16(packet, ^onesSum(packet))
	return append(packet, make([]byte, (4-len(packet)%4)%4)...)
}

// onesSum is the sum of the Internet checksum (RFC 1071): 0xffff over a packet whose checksum is right.
func onesSum(octets []byte) uint16 {
	var total uint32
	for i, octet := range octets {
		total += uint32(octet) << (8 * uint(1-i%2))
		total = total&0xffff + total>>16
	}
	return uint16(total)
}
