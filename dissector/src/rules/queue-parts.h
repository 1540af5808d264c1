/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A queue of messages that is larger than one packet comes in several CONTROLs (AMB-33): is a CONTROL one of them, and
 * which CONTROLs may be missing before it? */
#ifndef NETBLT_RULE_QUEUE_PARTS_H
#define NETBLT_RULE_QUEUE_PARTS_H

#include "rules/control-packet.h"

/* Seconds between the first and the last part of a queue, and between a part and the next one. */
#define NB_PARTS_SOON_S 0.05
#define NB_PARTS_LONG_S 0.1

/* What a CONTROL that leaves out the lowest messages may be, of a queue larger than one packet. */
enum nb_queue_part_kind {
    NB_NO_PART,
    NB_NEXT_PART,
    NB_LONE_PART,   /* the part before may have escaped the capture */
    NB_SPREAD_PART, /* what it leaves out was sent right before it */
};

/* Of a CONTROL with several messages. */
struct nb_queue_size {
    unsigned bytes;
    unsigned messages;
};

void nb_queue_parts_register(void);

/* To be called for each CONTROL, in this order: its size, what part it is, and that it was the last one. */
void nb_queue_note_size(const struct nb_event *event, const struct nb_control *control);
enum nb_queue_part_kind nb_queue_part(const struct nb_event *event, const struct nb_control *control);
void nb_queue_remember(const struct nb_event *event, const struct nb_control *control, enum nb_queue_part_kind part);

/* Bytes that a CONTROL here is known to hold. */
unsigned nb_queue_capacity(const struct nb_stream *stream);

/* Bytes of a packet with these messages; UINT_MAX: one was not captured yet, of any size. */
unsigned nb_queue_bytes(const struct nb_stream *stream, int64_t first, int64_t highest);

/* All messages from `first` on may be more than this end has ever put into one packet together. */
bool nb_queue_is_beyond_one_packet(const struct nb_stream *stream, int64_t first, int64_t highest);

/* A CONTROL of several messages was as large as this, and one held as many. */
bool nb_queue_held(const struct nb_stream *stream, const struct nb_queue_size *size);

/* Of the CONTROL before together with the first message of this one. */
struct nb_queue_size nb_queue_with_next(const struct nb_event *event, const struct nb_control *control);

/* By the IP IDs this end emitted nothing between the CONTROL before, which is sound, and this one. */
bool nb_queue_directly_follows(const struct nb_event *event);

/* Goes on where the CONTROL before it ended, so soon after it: perhaps the next part of one queue. */
bool nb_queue_continues(const struct nb_event *event, const struct nb_control *control);

/* Goes on as above after any time, and both together are larger than a CONTROL here is known to be. */
bool nb_queue_may_be_part(const struct nb_event *event, const struct nb_control *control);

/* Parts of one queue may be torn apart by so many seconds on their way. A path that changes the order holds packets
 * up. */
double nb_queue_parts_within_s(const struct nb_event *event, double torn_apart_s);

#endif
