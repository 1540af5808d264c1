#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Compiles the endpoint in Rust. Needs rustc 1.63 or later (Debian: rustc), and no crate.
set -e
cd "$(dirname "$0")"
rustc --edition 2021 -O -o endpoint pipe.rs
