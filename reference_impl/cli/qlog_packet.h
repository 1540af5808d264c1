/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_QLOG_PACKET_H
#define NETBLT_CLI_QLOG_PACKET_H

#include <stddef.h>

#include "cli/json.h"

/* Writes what is in a NETBLT packet as members of the object that is open. */
void qlog_write_packet(const uint8_t *bytes, size_t length, json_writer *json);

#endif
