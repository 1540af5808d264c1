/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a batch of datagrams is received to. */
#ifndef NETBLT_IO_INBOX_H
#define NETBLT_IO_INBOX_H

#include "io/link_state.h"

/* Everything recvmmsg() needs for one batch, kept from call to call. */
struct netblt_inbox {
    unsigned batch;
    uint8_t *slots;
    struct mmsghdr messages[NETBLT_LINK_BATCH];
    struct iovec vectors[NETBLT_LINK_BATCH];
    struct sockaddr_storage sources[NETBLT_LINK_BATCH];
    _Alignas(struct cmsghdr) uint8_t control[NETBLT_LINK_BATCH][LINK_CONTROL_BYTES];
};

/* For `batch` datagrams, at most NETBLT_LINK_BATCH. NULL when memory is short. */
struct netblt_inbox *netblt_inbox_new(unsigned batch);
void netblt_inbox_free(struct netblt_inbox *inbox);

#endif
