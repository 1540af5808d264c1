/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the data receiver share. Standard buffers: 4 packets of 100 bytes. */
#ifndef NETBLT_TESTS_RECEIVER_PEER_H
#define NETBLT_TESTS_RECEIVER_PEER_H

#include "check.h"
#include "peer.h"

static struct message messages[128];

/* Opened, both GOs seen, and acknowledged if asked. */
static void begin(struct peer *peer, bool acknowledged)
{
    peer_open(peer);
    CHECK_EQUAL(peer_last_messages(peer, messages, 128), peer->params.max_buffers);
    if (acknowledged)
        peer_null_ack(peer, peer->params.max_buffers);
    peer_mark(peer);
}

static void send_buffer(struct peer *peer, uint32_t buffer, unsigned high_seq, bool last)
{
    for (unsigned i = 0; i < 4; i++)
        peer_data(peer, buffer, i, high_seq, last);
}

#endif
