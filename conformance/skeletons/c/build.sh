#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Compiles the endpoint in C. Needs a C compiler and OpenSSL's headers (Debian: gcc libssl-dev).
set -e
cd "$(dirname "$0")"
"${CC:-cc}" -std=c17 -O2 -Wall -Wextra -I. -o endpoint endpoint.c pipe_endpoint.c -lcrypto
