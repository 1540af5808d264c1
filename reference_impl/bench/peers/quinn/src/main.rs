// SPDX-License-Identifier: BSD-2-Clause
//! QUIC (quinn) from memory to memory; usage as tcp_memory:
//!     quinn_memory recv PORT
//!     quinn_memory send HOST PORT SECONDS [cubic|bbr]
//! or from file to file:
//!     quinn_memory recv-file PORT PATH
//!     quinn_memory send-file HOST PORT PATH cubic|bbr
//! One stream, AES-GCM as QUIC demands, windows so large that memory never limits it.
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use quinn::{congestion, ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const WORKING_SET_BYTES: usize = 72 << 20;
const WRITE_BYTES: usize = 1 << 20;
const INTERVAL_MS: u64 = 100;
const WINDOW_BYTES: u32 = 64 << 20;

/// Microseconds since this host was started, as CLOCK_MONOTONIC counts them.
fn now_us() -> u64 {
    let text = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds: f64 = text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
    });
    (seconds * 1e6) as u64
}

/// What came when.
#[derive(Default)]
struct Meter {
    start: Option<Instant>,
    start_us: u64,
    last: u64,
    bytes: u64,
    intervals: Vec<u64>,
    reached: Vec<u64>,
}

/// Bytes after which the time is noted, as in meter.h.
const MILESTONES: [u64; 4] = [100_000, 1_000_000, 10_000_000, 100_000_000];

impl Meter {
    fn add(&mut self, bytes: u64) {
        let start = *self.start.get_or_insert_with(|| {
            self.start_us = now_us();
            Instant::now()
        });
        self.last = start.elapsed().as_micros() as u64;
        let index = (self.last / (INTERVAL_MS * 1000)) as usize;
        if self.intervals.len() <= index {
            self.intervals.resize(index + 1, 0);
        }
        self.intervals[index] += bytes;
        self.bytes += bytes;
        while self.reached.len() < MILESTONES.len() && self.bytes >= MILESTONES[self.reached.len()] {
            self.reached.push(self.start_us + self.last);
        }
    }

    fn print(&self) {
        let list: Vec<String> = self.intervals.iter().map(u64::to_string).collect();
        let reached: Vec<String> = self.reached.iter().map(u64::to_string).collect();
        println!(
            "{{\"bytes\": {}, \"first_us\": {}, \"last_us\": {}, \"interval_ms\": {}, \"intervals\": [{}], \
             \"reached_us\": [{}]}}",
            self.bytes, self.start_us, self.start_us + self.last, INTERVAL_MS, list.join(", "),
            reached.join(", ")
        );
    }
}

/// Longer than the outages of tools/bench --space: a connection outlives them.
const IDLE_S: u64 = 600;
const PROBE_S: u64 = 20;

fn transport(congestion_control: Option<&str>) -> Result<Arc<TransportConfig>, Failure> {
    let mut config = TransportConfig::default();
    config
        .stream_receive_window(VarInt::from_u32(WINDOW_BYTES))
        .receive_window(VarInt::from_u32(WINDOW_BYTES))
        .send_window(u64::from(WINDOW_BYTES))
        .keep_alive_interval(Some(Duration::from_secs(PROBE_S)))
        .max_idle_timeout(Some(Duration::from_secs(IDLE_S).try_into()?));
    match congestion_control {
        None | Some("cubic") => {}
        Some("bbr") => {
            config.congestion_controller_factory(Arc::new(congestion::BbrConfig::default()));
        }
        Some(other) => return Err(format!("no congestion control is called {other}").into()),
    }
    Ok(Arc::new(config))
}

fn server_config() -> Result<ServerConfig, Failure> {
    let made = rcgen::generate_simple_self_signed(vec!["bench".to_string()])?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.key_pair.serialize_der()));
    let mut config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key)?;
    config.transport_config(transport(None)?);
    Ok(config)
}

/// The benchmark talks to itself through a namespace of its own: any certificate will do.
#[derive(Debug)]
struct TrustAnyone(rustls::crypto::CryptoProvider);

impl ServerCertVerifier for TrustAnyone {
    fn verify_server_cert(
        &self, _: &CertificateDer<'_>, _: &[CertificateDer<'_>], _: &ServerName<'_>, _: &[u8], _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self, message: &[u8], cert: &CertificateDer<'_>, signed: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }
    fn verify_tls13_signature(
        &self, message: &[u8], cert: &CertificateDer<'_>, signed: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

fn client_config(congestion_control: Option<&str>) -> Result<ClientConfig, Failure> {
    let provider = rustls::crypto::ring::default_provider();
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(provider.clone()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(TrustAnyone(provider)))
        .with_no_client_auth();
    let mut config = ClientConfig::new(Arc::new(quinn::crypto::rustls::QuicClientConfig::try_from(tls)?));
    config.transport_config(transport(congestion_control)?);
    Ok(config)
}

/// Copies what comes into the working set, until the stream or the connection ends.
async fn take_in(port: u16, meter: &mut Meter) -> Result<(), Failure> {
    let mut set = vec![1u8; WORKING_SET_BYTES];
    let mut at = 0;
    let endpoint = Endpoint::server(server_config()?, SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)))?;
    let connection = endpoint.accept().await.ok_or("the endpoint was closed")?.await?;
    let mut stream = connection.accept_uni().await?;
    while let Some(chunk) = stream.read_chunk(WRITE_BYTES, true).await? {
        let length = chunk.bytes.len();
        set[at..at + length].copy_from_slice(&chunk.bytes);
        at = if at + length + WRITE_BYTES <= WORKING_SET_BYTES { at + length } else { 0 };
        meter.add(length as u64);
    }
    Ok(())
}

async fn receive(port: u16) -> Result<(), Failure> {
    let mut meter = Meter::default();
    let mut stop = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        _ = stop.recv() => {}
        ended = take_in(port, &mut meter) => if meter.bytes == 0 { ended? },
    }
    meter.print();
    Ok(())
}

async fn send(to: SocketAddr, seconds: f64, congestion_control: Option<&str>) -> Result<(), Failure> {
    let set: Vec<u8> = (0..WORKING_SET_BYTES).map(|i| (i >> 5) as u8).collect();
    let mut endpoint = Endpoint::client(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))?;
    endpoint.set_default_client_config(client_config(congestion_control)?);
    let connection = endpoint.connect(to, "bench")?.await?;
    let mut stream = connection.open_uni().await?;
    let mut sent = 0usize;
    let writing = async {
        loop {
            let at = sent % (WORKING_SET_BYTES - WRITE_BYTES);
            sent += stream.write(&set[at..at + WRITE_BYTES]).await?;
        }
    };
    let ended: Result<Result<(), quinn::WriteError>, _> =
        tokio::time::timeout(Duration::from_secs_f64(seconds), writing).await;
    if let Ok(Err(problem)) = ended {
        return Err(problem.into());
    }
    println!("{{\"bytes\": {sent}}}");
    Ok(())
}

/// Ends when the whole stream has come and the sender has closed the connection.
async fn receive_file(port: u16, path: &str) -> Result<(), Failure> {
    let mut file = File::create(path)?;
    let endpoint = Endpoint::server(server_config()?, SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)))?;
    let connection = endpoint.accept().await.ok_or("the endpoint was closed")?.await?;
    let mut stream = connection.accept_uni().await?;
    while let Some(chunk) = stream.read_chunk(WRITE_BYTES, true).await? {
        file.write_all(&chunk.bytes)?;
    }
    file.flush()?;
    connection.closed().await;
    Ok(())
}

/// Ends when the receiver has acknowledged the whole stream.
async fn send_file(to: SocketAddr, path: &str, congestion_control: Option<&str>) -> Result<(), Failure> {
    let mut file = File::open(path)?;
    let mut endpoint = Endpoint::client(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))?;
    endpoint.set_default_client_config(client_config(congestion_control)?);
    let connection = endpoint.connect(to, "bench")?.await?;
    let mut stream = connection.open_uni().await?;
    let mut piece = vec![0u8; WRITE_BYTES];
    loop {
        let length = file.read(&mut piece)?;
        if length == 0 {
            break;
        }
        stream.write_all(&piece[..length]).await?;
    }
    stream.finish()?;
    if stream.stopped().await?.is_some() {
        return Err("the receiver stopped before it had the whole file".into());
    }
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [_, "recv", port] => receive(port.parse()?).await,
        [_, "send", host, port, seconds] => {
            send(SocketAddr::new(host.parse()?, port.parse()?), seconds.parse()?, None).await
        }
        [_, "send", host, port, seconds, name] => {
            send(SocketAddr::new(host.parse()?, port.parse()?), seconds.parse()?, Some(name)).await
        }
        [_, "recv-file", port, path] => receive_file(port.parse()?, path).await,
        [_, "send-file", host, port, path, name] => {
            send_file(SocketAddr::new(host.parse()?, port.parse()?), path, Some(name)).await
        }
        _ => Err("usage: quinn_memory recv PORT | send HOST PORT SECONDS [cubic|bbr] | recv-file PORT PATH | \
                  send-file HOST PORT PATH cubic|bbr"
            .into()),
    }
}
