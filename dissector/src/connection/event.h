/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One packet with all that is known about it, as the model and the rules take it. */
#ifndef NETBLT_EVENT_H
#define NETBLT_EVENT_H

#include "connection/record.h"
#include "connection/stream.h"

struct nb_event {
    const struct nb_packet *packet;
    struct nb_stream *stream;
    struct nb_record *record;
    struct nb_emitted emitted;
    int end; /* 0 or 1: emitter */
    uint32_t frame;
    uint32_t ordinal; /* of the record */
    uint32_t content; /* hash of the packet's first bytes */
    int64_t now_ns;   /* since the first frame of the file */
    double now;       /* the same in seconds */
    bool over_udp;
    bool at_receiver; /* as at_sender, of the receiver */
    bool at_sender;   /* the user said so: capture order is the sender's emission order */
    bool sound_data;  /* false for DATA with a bad data checksum */
};

#endif
