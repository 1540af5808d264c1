#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Compiles the endpoint in Go. Needs Go 1.19 or later (Debian: golang-go), and no other module.
set -e
cd "$(dirname "$0")"
go build -o endpoint .
