/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NETBLT_ANALYSIS_H
#define NETBLT_ANALYSIS_H

#include "facts.h"
#include "judge.h"
#include "stream.h"

/* First pass: updates the stream and judges the packet. Every pass: returns what is known about the frame's packet
 * `key` (nb_record_key); NULL when it belongs to no stream. Sets packet->data_checksum. */
const struct nb_record *nb_analyse(struct nb_packet *packet, const struct nb_carrier *carrier, packet_info *pinfo,
                                   uint32_t key, bool verified, int position);

/* Stream index, roles, capture position, findings. */
void nb_show_record(const struct nb_packet *packet, const struct nb_record *record, packet_info *pinfo,
                    proto_tree *tree, int position);

/* CKSUM-04. The data must have been captured. */
bool nb_data_checksum_fits(const struct nb_packet *packet);

/* Packets that a claim waits for (judge.h): one that escaped the capture would have to overtake them. */
enum { NB_PACKETS_TO_PROVE = 4 };

/* These doubts say that packets may have escaped the capture. A claim on an unbroken flow need not heed them: there
 * the end that acknowledges what was never sent is the one that is wrong. */
#define NB_DOUBTS_OF_LOSS (NB_DOUBT_UNSEEN_ACKED | NB_DOUBT_UNSEEN_DATA)

/* A CONTROL as a whole. */
struct nb_control {
    int64_t first; /* message, 0 when it holds none */
    int64_t highest;
    int64_t newest_before; /* newest message captured before this CONTROL */
    unsigned messages;
    unsigned fresh; /* captured for the first time */
    unsigned gos;   /* of these */
    unsigned oks;
    bool present[NB_TOLD_WINDOW]; /* by number - acked - 1 */
};

/* analysis-wire.c: WIRE, CKSUM. Of a packet that changes no state, and of any other. */
void nb_wire_broken(const struct nb_event *event, bool verified);
void nb_wire_packet(const struct nb_event *event);
/* WIRE-02: the version byte of an intact packet, whatever its dialect. */
void nb_wire_version(const struct nb_event *event);
/* Its bad checksum is what a known mistake makes: the packet is as it was emitted. */
bool nb_wire_is_miscomputed(const struct nb_packet *packet);

/* analysis-opening.c: OPEN, NEG. */
void nb_opening_packet(const struct nb_event *event);
void nb_opening_transfer(const struct nb_event *event); /* CONTROL, DATA, LDATA, NULL-ACK */

/* analysis-control.c: a CONTROL as a whole. */
void nb_control_packet(const struct nb_event *event);

/* analysis-messages.c: a message of it, captured for the first time or again. */
void nb_message_fresh(const struct nb_event *event, const struct nb_message *message, int64_t seq);
void nb_message_again(const struct nb_event *event, const struct nb_message *message, struct nb_told *told);
/* It was acknowledged before it was captured. */
void nb_message_late(const struct nb_event *event, const struct nb_message *message, int64_t seq);

/* analysis-requests.c: the lists of RESENDs. A message is told when it is captured for the first time. */
void nb_requests_ask(const struct nb_event *event, const struct nb_message *message, struct nb_buffer *buffer);
/* Only counts what the message asks for. */
void nb_requests_count(const struct nb_event *event, const struct nb_message *message, struct nb_buffer *buffer);
void nb_requests_ask_again(const struct nb_event *event, const struct nb_message *message);
void nb_requests_judge(const struct nb_event *event, struct nb_buffer *buffer); /* its OK is acknowledged */

/* analysis-acks.c: CTRL-06, 07, 10, 11, NEG-09. The first before stream->acked is brought up to date. */
void nb_acks_packet(const struct nb_event *event, int64_t ack);
void nb_acks_null_ack(const struct nb_event *event, int64_t ack);
void nb_acks_retire(const struct nb_event *event, int64_t before, int64_t ack);

/* analysis-data.c: DATA, RESEND-03. */
void nb_data_packet(const struct nb_event *event, int64_t ack);
void nb_data_copy(const struct nb_event *event);

/* analysis-ends.c: DATA-04, a full buffer ends with DATA. Only an LDATA without data may follow, right behind it, where
 * the end was found late (AMB-42); not when the buffer has its OK, or when the next one begins. */
void nb_buffer_ends_unmarked(const struct nb_event *event, struct nb_buffer *buffer, bool may_go_on);
void nb_buffer_judge_end(const struct nb_event *event, struct nb_buffer *buffer);

/* DATA-13: a packet of a buffer that is complete. */
void nb_buffer_goes_on(const struct nb_event *event, int64_t ack);

/* DATA-02: once every packet is there. Where numbers count from 1 (AMB-10) that is not known before the OK. */
void nb_buffer_judge_size(const struct nb_event *event, struct nb_buffer *buffer, bool from_one);

/* analysis-outstanding.c: DATA-12. The first with the first packet of a buffer, the second behind a CONTROL. */
void nb_outstanding_begin(const struct nb_event *event, const struct nb_buffer *buffer);
void nb_outstanding_control(const struct nb_event *event, const struct nb_control *control);

/* analysis-rate.c: RATE. */
void nb_rate_offer(const struct nb_event *event, struct nb_pace pace);
/* `buffer` NULL when nothing is known of it any more. */
void nb_rate_packet(const struct nb_event *event, const struct nb_buffer *buffer, bool repeated);

/* analysis-absence.c: what does not come: CTRL-10, QUIT-02, TIMER-01, 10, 11. Before side->last_when is brought up to
 * date. */
void nb_absence_packet(const struct nb_event *event);

/* analysis-close.c: CLOSE, QUIT, ABORT. */
void nb_close_packet(const struct nb_event *event);
void nb_close_repeated(const struct nb_event *event);

/* analysis-redundancy.c: CTRL-04. The acknowledgement has to be told before it is taken into stream->acked. */
struct nb_redundancy *nb_redundancy_new(void);
void nb_redundancy_fetch(const struct nb_redundancy *redundancy); /* fetch.h */
void nb_redundancy_control(const struct nb_event *event, const struct nb_control *control);
/* Goes on where the CONTROL before it ended, so soon after it: perhaps the next part of one queue. */
bool nb_redundancy_continues(const struct nb_event *event, const struct nb_control *control);
/* By the IP IDs this end emitted nothing between the CONTROL before, which is sound, and this one. */
bool nb_redundancy_directly_behind(const struct nb_event *event);
/* Goes on as above after any time, and both together are larger than a CONTROL here is known to be. */
bool nb_redundancy_may_be_part(const struct nb_event *event, const struct nb_control *control);
void nb_redundancy_acknowledged(const struct nb_event *event, int64_t ack);
void nb_redundancy_passed(const struct nb_event *event);         /* a packet of the sender that acknowledges nothing */
unsigned nb_redundancy_capacity(const struct nb_stream *stream); /* bytes that a CONTROL here is known to hold */

/* analysis-robust.c: ROBUST-03..08, TIMER-12, DEMUX-03. The first before the rules that call the second. */
void nb_robust_packet(const struct nb_event *event);
/* This packet is one that the other end has to bear. */
void nb_robust_odd(const struct nb_event *event, enum nb_odd odd);

/* analysis-etftp.c: R1986, for connections in that dialect. */
void nb_etftp_packet(const struct nb_event *event);

/* analysis-order.c: ORDER-02 */
void nb_order_message(const struct nb_event *event, const struct nb_message *message, int64_t seq);
void nb_order_data(const struct nb_event *event, int64_t ack);

#endif
