/* SPDX-License-Identifier: BSD-2-Clause */
/* Every raw socket of a host gets a copy of every protocol-30 packet. A filter in the kernel keeps away those for ports
 * of other processes, so that no process is woken, and no buffer filled, by the transfer of another. It is only an
 * economy: port_table.c decides. */
#include <linux/filter.h>
#include <stdlib.h>

#include "io/link_state.h"

/* Ports beyond which walking the list costs more than it saves: then everything comes in again. */
#define PORTS_MAX 256
#define ACCEPT_BYTES 0x40000u /* whatever the packet's length */
/* WIRE-02 */
#define TYPE_OFFSET 3
#define FOREIGN_PORT_OFFSET 8

struct program {
    struct sock_filter steps[2 * PORTS_MAX + 6];
    unsigned short count;
};

static void add(struct program *program, uint16_t code, uint32_t value, uint8_t skip_if_false)
{
    program->steps[program->count++] = (struct sock_filter){.code = code, .jf = skip_if_false, .k = value};
}

static void accept_if_equal(struct program *program, uint32_t value)
{
    add(program, BPF_JMP | BPF_JEQ | BPF_K, value, 1);
    add(program, BPF_RET | BPF_K, ACCEPT_BYTES, 0);
}

/* X is where the NETBLT packet begins. A load beyond the packet's end rejects it. */
static void write_program(struct program *program, enum netblt_family family, const uint16_t *ports, size_t count,
                          bool opens)
{
    program->count = 0;
    if (family == NETBLT_FAMILY_IPV4)
        add(program, BPF_LDX | BPF_B | BPF_MSH, 0, 0); /* after the IP header, options included */
    else
        add(program, BPF_LDX | BPF_IMM, 0, 0);
    add(program, BPF_LD | BPF_H | BPF_IND, FOREIGN_PORT_OFFSET, 0);
    for (size_t i = 0; i < count; i++)
        accept_if_equal(program, ports[i]);
    if (opens) {
        add(program, BPF_LD | BPF_B | BPF_IND, TYPE_OFFSET, 0);
        accept_if_equal(program, NETBLT_TYPE_OPEN);
    }
    add(program, BPF_RET | BPF_K, 0, 0);
}

void netblt_link_admit_only(netblt_link *link, const uint16_t *ports, size_t count, bool opens)
{
    struct program program;
    const int none = 0;
    if (link->encap != NETBLT_ENCAP_IP)
        return;
    for (unsigned i = 0; i < NETBLT_LINK_SOCKETS; i++) {
        const netblt_socket *at = &link->sockets[i];
        struct sock_fprog attached = {.filter = program.steps};
        if (at->fd < 0)
            continue;
        if (count <= PORTS_MAX) {
            write_program(&program, at->family, ports, count, opens);
            attached.len = program.count;
        }
        if (count > PORTS_MAX || setsockopt(at->fd, SOL_SOCKET, SO_ATTACH_FILTER, &attached, sizeof attached) != 0)
            setsockopt(at->fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof none);
    }
}
