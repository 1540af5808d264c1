/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_QLOG_PACKET_H
#define NETBLT_CLI_QLOG_PACKET_H

#include <stddef.h>

#include "cli/json.h"

/* What is in a NETBLT packet. NULL when memory is short. */
json_t *qlog_packet(const uint8_t *bytes, size_t length);

#endif
