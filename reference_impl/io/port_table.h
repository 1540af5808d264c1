/* SPDX-License-Identifier: BSD-2-Clause */
/* The NETBLT ports that this process owns. */
#ifndef NETBLT_IO_PORT_TABLE_H
#define NETBLT_IO_PORT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "io/failure.h"
#include "io/link.h"

/* The NETBLT ports of this process, and the rule which packets are for it. */
typedef struct netblt_owned_port {
    netblt_address address;
    uint16_t port;
    bool passive;
    int claim; /* -1 on UDP, where the kernel keeps other processes away from our UDP port */
} netblt_owned_port;

typedef struct netblt_port_table {
    enum netblt_encap encap;
    netblt_owned_port *ports;
    size_t count;
    size_t capacity;
    bool has_passive;
    netblt_time probe_again_at; /* see stray OPENs in port_table.c */
} netblt_port_table;

void netblt_port_table_init(netblt_port_table *table, enum netblt_encap encap);
void netblt_port_table_free(netblt_port_table *table);
/* 0, or -1 with *failure. */
int netblt_port_table_add(netblt_port_table *table, const netblt_address *address, uint16_t port, bool passive,
                          netblt_failure *failure);
/* Takes the port that was added last out again, passive or not. */
void netblt_port_table_undo_add(netblt_port_table *table);
/* Gives a port of the active end up; nothing happens when it is not there. */
void netblt_port_table_remove(netblt_port_table *table, uint16_t port);
bool netblt_port_table_owns(const netblt_port_table *table, uint16_t port);
/* Whether two packets, of NETBLT_HEADER_BYTES at least, are judged alike because they have the same port and type, or
 * neither is an OPEN. */
bool netblt_port_table_same_kind(const uint8_t *a, const uint8_t *b);
/* May this packet reach the endpoint? */
bool netblt_port_table_admits(netblt_port_table *table, const netblt_path *path, const uint8_t *packet, size_t length,
                              netblt_time now);

#endif
