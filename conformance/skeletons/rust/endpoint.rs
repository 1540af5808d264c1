// SPDX-License-Identifier: GPL-2.0-or-later
//! A skeleton of a NETBLT endpoint: a passive receiver that refuses every OPEN. Replace its parts by calls of your
//! implementation. The file pipe.rs reads and writes the pipe and stays as it is.

use crate::Start;

const TYPE_OPEN: u8 = 0;
const TYPE_REFUSED: u8 = 10;
const HEADER_BYTES: usize = 12;
const OPEN_BYTES: usize = 36;
pub const NEVER: u64 = u64::MAX;

/// The states of a case (docs/pipe.md).
#[allow(dead_code)] // the skeleton uses the first one only
#[derive(Clone, Copy)]
pub enum Status {
    Opening,
    Open,
    Done,
    Failed,
    ClosedDone,
    ClosedFailed,
}

/// A packet to send and the address to which it goes.
pub struct Output {
    pub destination: [u8; 4],
    pub packet: Vec<u8>,
}

/// One end of one transfer. Moments are microseconds since the case began.
pub struct Endpoint {
    start: Start,
    pub outputs: Vec<Output>, // pipe.rs empties it
    pub deadline: u64,        // next: the moment of the earliest timer that runs
    pub status: Status,
    pub reason: String,
    pub delivered: Vec<u8>,
    pub peer_string: String,
}

impl Endpoint {
    /// Begins a case. An error makes the answer UNSUPPORTED: the case is N/A.
    pub fn new(start: Start, _now: u64) -> Result<Endpoint, String> {
        if start.active || start.sender {
            return Err("only a passive receiver is implemented".to_string());
        }
        if start.stall_until != 0 {
            return Err("a client that stalls is not implemented".to_string());
        }
        Ok(Endpoint {
            start,
            outputs: Vec::new(),
            deadline: NEVER,
            status: Status::Opening,
            reason: String::new(),
            delivered: Vec::new(),
            peer_string: String::new(),
        })
    }

    /// Takes a packet that arrived.
    /// Next: answer an OPEN by a RESPONSE and a CONTROL packet with GO, and take DATA and LDATA (RFC 998 section 5).
    pub fn on_packet(&mut self, _now: u64, source: [u8; 4], packet: &[u8]) {
        if packet.len() < OPEN_BYTES || packet[3] != TYPE_OPEN {
            return;
        }
        let length = usize::from(read_u16(packet, 4));
        if length < OPEN_BYTES || length > packet.len() || ones_sum(&packet[..length]) != 0xffff {
            return;
        }
        let (theirs, ours) = (read_u16(packet, 6), read_u16(packet, 8));
        let reason: &[u8] = if ours == self.start.local_port {
            b"not implemented yet\0"
        } else {
            b"nobody listens on this port\0"
        };
        self.outputs.push(Output {
            destination: source,
            packet: new_packet(TYPE_REFUSED, self.start.version, ours, theirs, reason),
        });
    }

    /// Runs the timers that are due.
    /// Next: retransmit the CONTROL packet, request missing packets, send KEEPALIVE, detect a dead peer.
    pub fn advance(&mut self, _now: u64) {}

    /// Quits or aborts for the client. An error makes the answer UNSUPPORTED.
    pub fn stop(&mut self, _now: u64, _abort: bool, _reason: &str) -> Result<(), String> {
        Err("the client cannot quit or abort yet".to_string())
    }
}

fn read_u16(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

/// A NETBLT packet: header, checksum, and zeros up to a multiple of 4 bytes.
fn new_packet(kind: u8, version: u8, local_port: u16, foreign_port: u16, body: &[u8]) -> Vec<u8> {
    let length = (HEADER_BYTES + body.len()) as u16;
    let mut packet = vec![0, 0, version, kind];
    for field in [length, local_port, foreign_port, 0] {
        packet.extend_from_slice(&field.to_be_bytes());
    }
    packet.extend_from_slice(body);
    let checksum = !ones_sum(&packet);
    packet[..2].copy_from_slice(&checksum.to_be_bytes());
    packet.resize((packet.len() + 3) / 4 * 4, 0);
    packet
}

/// The sum of the Internet checksum (RFC 1071): 0xffff over a packet whose checksum is right.
fn ones_sum(octets: &[u8]) -> u16 {
    let mut total: u32 = 0;
    for (i, octet) in octets.iter().enumerate() {
        total += u32::from(*octet) << (8 * (1 - i % 2));
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}
