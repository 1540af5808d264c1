/* SPDX-License-Identifier: BSD-2-Clause */
/* The NETBLT ports that this process owns. */
#include "io/port_table.h"

#include <stdlib.h>

#include <netblt/params.h>

#include "io/claim.h"
#include "io/claim_names.h"

/* A stray OPEN makes us ask who owns its port, which reads a file of /proc: a flood of them must not eat the CPU. */
#define STRAY_PROBE_INTERVAL_US 20000

void netblt_port_table_init(netblt_port_table *table, enum netblt_encap encap)
{
    *table = (netblt_port_table){.encap = encap};
    if (encap == NETBLT_ENCAP_IP)
        netblt_names_prepare();
}

void netblt_port_table_free(netblt_port_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        netblt_claim_release(table->ports[i].claim);
    free(table->ports);
    *table = (netblt_port_table){.encap = table->encap};
}

static bool make_room(netblt_port_table *table)
{
    size_t capacity = table->capacity == 0 ? 4 : table->capacity * 2;
    netblt_owned_port *ports;
    if (table->count < table->capacity)
        return true;
    ports = realloc(table->ports, capacity * sizeof *ports);
    if (ports == NULL)
        return false;
    table->ports = ports;
    table->capacity = capacity;
    return true;
}

int netblt_port_table_add(netblt_port_table *table, const netblt_address *address, uint16_t port, bool passive,
                          netblt_failure *failure)
{
    netblt_owned_port owned = {.address = *address, .port = port, .passive = passive, .claim = -1};
    if (!make_room(table))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory for another port");
    if (table->encap == NETBLT_ENCAP_IP && netblt_claim_port(address, port, &owned.claim, failure) != 0)
        return -1;
    table->ports[table->count++] = owned;
    table->has_passive = table->has_passive || passive;
    return 0;
}

void netblt_port_table_undo_add(netblt_port_table *table)
{
    netblt_claim_release(table->ports[--table->count].claim);
    table->has_passive = false;
    for (size_t i = 0; i < table->count; i++)
        table->has_passive = table->has_passive || table->ports[i].passive;
}

void netblt_port_table_remove(netblt_port_table *table, uint16_t port)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->ports[i].port != port || table->ports[i].passive)
            continue;
        netblt_claim_release(table->ports[i].claim);
        table->ports[i] = table->ports[--table->count];
        return;
    }
}

bool netblt_port_table_owns(const netblt_port_table *table, uint16_t port)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->ports[i].port == port)
            return true;
    return false;
}

/* An OPEN for a port that no process of this host owns deserves a REFUSED, and a passive end gives it (AMB-26). Over
 * UDP all NETBLT ports of our UDP port are ours alone; over raw IP the other processes have to be asked. */
static bool is_nobodys_open(netblt_port_table *table, const netblt_path *path, uint16_t port, uint8_t type,
                            netblt_time now)
{
    if (!table->has_passive || type != NETBLT_TYPE_OPEN)
        return false;
    if (table->encap == NETBLT_ENCAP_UDP)
        return true;
    if (now < table->probe_again_at)
        return false;
    table->probe_again_at = now + STRAY_PROBE_INTERVAL_US;
    return !netblt_claim_exists(&path->local, port);
}

bool netblt_port_table_same_kind(const uint8_t *a, const uint8_t *b)
{
    return a[8] == b[8] && a[9] == b[9] && (a[3] == NETBLT_TYPE_OPEN) == (b[3] == NETBLT_TYPE_OPEN);
}

bool netblt_port_table_admits(netblt_port_table *table, const netblt_path *path, const uint8_t *packet, size_t length,
                              netblt_time now)
{
    uint16_t port;
    if (length < NETBLT_HEADER_BYTES)
        return false;
    port = (uint16_t)(packet[8] << 8 | packet[9]); /* WIRE-02: Foreign Port, which is the receiver's (AMB-13) */
    return netblt_port_table_owns(table, port) || is_nobodys_open(table, path, port, packet[3], now);
}
