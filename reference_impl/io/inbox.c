/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a batch of datagrams is received to. */
#include "io/inbox.h"

#include <stdlib.h>

/* Room for the largest datagram that IP can carry, and some bytes so that neighbours do not share cache sets. */
#define SLOT_BYTES (65536 + 192)

struct netblt_inbox *netblt_inbox_new(unsigned batch)
{
    struct netblt_inbox *inbox = calloc(1, sizeof *inbox);
    uint8_t *slots = malloc((size_t)batch * SLOT_BYTES);
    if (inbox == NULL || slots == NULL) {
        free(inbox);
        free(slots);
        return NULL;
    }
    inbox->batch = batch;
    inbox->slots = slots;
    for (unsigned i = 0; i < batch; i++) {
        inbox->vectors[i] = (struct iovec){.iov_base = slots + (size_t)i * SLOT_BYTES, .iov_len = SLOT_BYTES};
        inbox->messages[i].msg_hdr = (struct msghdr){.msg_name = &inbox->sources[i],
                                                     .msg_iov = &inbox->vectors[i],
                                                     .msg_iovlen = 1,
                                                     .msg_control = inbox->control[i]};
    }
    return inbox;
}

void netblt_inbox_free(struct netblt_inbox *inbox)
{
    if (inbox == NULL)
        return;
    free(inbox->slots);
    free(inbox);
}
