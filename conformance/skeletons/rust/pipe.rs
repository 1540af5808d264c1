// SPDX-License-Identifier: GPL-2.0-or-later
//! The pipe (docs/pipe.md): reads requests from standard input, calls the endpoint, writes answers to standard output.
//! Nothing in this file has to be changed.

mod endpoint;
mod sha256;

use endpoint::{Endpoint, NEVER};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::process;

const HELLO: u8 = 0x01;
const START: u8 = 0x02;
const PACKET: u8 = 0x03;
const ADVANCE: u8 = 0x04;
const STOP: u8 = 0x05;
const REPORT: u8 = 0x06;
const CLOSE: u8 = 0x07;
const ANSWER_HELLO: u8 = 0x81;
const ANSWER_OUTPUT: u8 = 0x82;
const ANSWER_STATE: u8 = 0x83;
const ANSWER_REPORT: u8 = 0x84;
const ANSWER_UNSUPPORTED: u8 = 0x85;
const PIPE_VERSION: u16 = 1;
const ALL_FEATURES: u32 = 0x7f; // what is missing the endpoint reports as unsupported

/// The fields of the request START, in their order.
#[allow(dead_code)] // the skeleton uses some of them
pub struct Start {
    pub active: bool,
    pub sender: bool,
    pub version: u8,
    pub data_checksum: bool,
    pub local_port: u16,
    pub foreign_port: u16,
    pub buffer_size: u32,
    pub packet_size: u16,
    pub burst_size: u16,
    pub burst_interval: u16, // ms
    pub death_timer: u16,    // s
    pub max_buffers: u16,
    pub stall_from: u16,
    pub stall_until: u64, // us
    pub seed: u64,
    pub local_address: [u8; 4],
    pub foreign_address: [u8; 4],
    pub client_string: String,
    pub test_id: String,
    pub data: Vec<u8>,
}

fn give_up(why: &str) -> ! {
    eprintln!("pipe: {}", why); // standard output carries frames only
    process::exit(1)
}

/// Takes fields from a request.
struct Reader<'a> {
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        if self.left.len() < count {
            give_up("a request is too short");
        }
        let (taken, left) = self.left.split_at(count);
        self.left = left;
        taken
    }

    fn number(&mut self, bytes: usize) -> u64 {
        self.take(bytes)
            .iter()
            .fold(0, |number, octet| number << 8 | u64::from(*octet))
    }

    fn u8(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn u16(&mut self) -> u16 {
        self.number(2) as u16
    }

    fn text(&mut self) -> String {
        let length = usize::from(self.u16());
        String::from_utf8_lossy(self.take(length)).into_owned()
    }

    fn address(&mut self) -> [u8; 4] {
        let octets = self.take(4);
        [octets[0], octets[1], octets[2], octets[3]]
    }

    fn start(&mut self) -> Start {
        Start {
            active: self.u8() != 0,
            sender: self.u8() != 0,
            version: self.u8(),
            data_checksum: self.u8() != 0,
            local_port: self.u16(),
            foreign_port: self.u16(),
            buffer_size: self.number(4) as u32,
            packet_size: self.u16(),
            burst_size: self.u16(),
            burst_interval: self.u16(),
            death_timer: self.u16(),
            max_buffers: self.u16(),
            stall_from: self.u16(),
            stall_until: self.number(8),
            seed: self.number(8),
            local_address: self.address(),
            foreign_address: self.address(),
            client_string: self.text(),
            test_id: self.text(),
            data: self.left.to_vec(),
        }
    }
}

/// A string with its length before it.
fn with_length(text: &str) -> Vec<u8> {
    [&(text.len() as u16).to_be_bytes(), text.as_bytes()].concat()
}

fn write_frame(sink: &mut dyn Write, kind: u8, parts: &[&[u8]]) -> io::Result<()> {
    let length: usize = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
    sink.write_all(&(length as u32).to_be_bytes())?;
    sink.write_all(&[kind])?;
    parts.iter().try_for_each(|part| sink.write_all(part))
}

/// The packets that leave now, and the state after them.
fn write_state(sink: &mut dyn Write, endpoint: &mut Endpoint) -> io::Result<()> {
    for output in endpoint.outputs.drain(..) {
        write_frame(sink, ANSWER_OUTPUT, &[&output.destination, &output.packet])?;
    }
    let (deadline, status) = (endpoint.deadline.to_be_bytes(), [endpoint.status as u8]);
    write_frame(
        sink,
        ANSWER_STATE,
        &[&deadline, &status, &with_length(&endpoint.reason)],
    )
}

fn write_report(sink: &mut dyn Write, endpoint: &Endpoint) -> io::Result<()> {
    let length = (endpoint.delivered.len() as u64).to_be_bytes();
    let digest = sha256::digest(&endpoint.delivered);
    write_frame(
        sink,
        ANSWER_REPORT,
        &[&length, &digest, &with_length(&endpoint.peer_string)],
    )
}

/// A request of the case that runs.
fn serve_case(
    sink: &mut dyn Write,
    kind: u8,
    request: &mut Reader,
    endpoint: &mut Endpoint,
) -> io::Result<()> {
    if kind == REPORT {
        return write_report(sink, endpoint);
    }
    let now = request.number(8);
    match kind {
        PACKET => {
            let source = request.address();
            endpoint.on_packet(now, source, request.left);
        }
        ADVANCE => endpoint.advance(now),
        STOP => {
            let abort = request.u8() != 0;
            if let Err(missing) = endpoint.stop(now, abort, &request.text()) {
                return write_frame(sink, ANSWER_UNSUPPORTED, &[missing.as_bytes()]);
            }
        }
        _ => give_up("a request of unknown kind"),
    }
    write_state(sink, endpoint)
}

fn serve(
    sink: &mut dyn Write,
    kind: u8,
    request: &mut Reader,
    case: &mut Option<Endpoint>,
) -> io::Result<()> {
    match kind {
        HELLO => {
            let (version, features) = (PIPE_VERSION.to_be_bytes(), ALL_FEATURES.to_be_bytes());
            write_frame(
                sink,
                ANSWER_HELLO,
                &[&version, &features, &with_length("skeleton in Rust")],
            )
        }
        START => {
            let now = request.number(8);
            match Endpoint::new(request.start(), now) {
                Ok(begun) => write_state(sink, case.insert(begun)),
                Err(missing) => {
                    *case = None;
                    write_frame(sink, ANSWER_UNSUPPORTED, &[missing.as_bytes()])
                }
            }
        }
        CLOSE => {
            *case = None;
            write_frame(
                sink,
                ANSWER_STATE,
                &[&NEVER.to_be_bytes(), &[0], &with_length("")],
            )
        }
        _ => match case {
            Some(endpoint) => serve_case(sink, kind, request, endpoint),
            None => give_up("a request outside of a case"),
        },
    }
}

fn main() -> io::Result<()> {
    let mut source = BufReader::new(io::stdin());
    let mut sink = BufWriter::new(io::stdout());
    let mut case: Option<Endpoint> = None;
    let mut head = [0; 4];
    while source.read_exact(&mut head).is_ok() {
        let mut body = vec![0; u32::from_be_bytes(head) as usize];
        if body.is_empty() || source.read_exact(&mut body).is_err() {
            give_up("a request is cut off or empty");
        }
        serve(
            &mut sink,
            body[0],
            &mut Reader { left: &body[1..] },
            &mut case,
        )?;
        sink.flush()?;
    }
    Ok(())
}
