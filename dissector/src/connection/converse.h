/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Brings what is known between the packets of a connection (conversation.h) up to date. */
#ifndef NETBLT_CONVERSE_H
#define NETBLT_CONVERSE_H

#include "connection/event.h"

/* First pass: takes note of a packet that counts (sound, checksum not wrong) and fills its record. */
void nb_converse(struct nb_event *event);

/* Adds a note to a record. */
void nb_note(struct nb_record *record, enum nb_note_kind kind, uint32_t frame, int64_t time_ns);

/* The packet is a copy of the one in `frame`; nothing when that is 0. */
void nb_note_copy(struct nb_record *record, uint32_t frame);

/* Unless a note of this kind is there already. */
void nb_note_once(struct nb_record *record, enum nb_note_kind kind, uint32_t frame, int64_t time_ns);

/* conversation-data.c */
void nb_converse_data(struct nb_event *event);
struct nb_buffer_life *nb_buffer_life(struct nb_conversation *conversation, uint32_t number, bool make);

/* Where it is or will be among those that are near, without a look at it; NULL when it has no place there. */
struct nb_buffer_life *nb_buffer_life_place(const struct nb_conversation *conversation, uint32_t number);

/* As above, only to be looked at; NULL when there is none. */
const struct nb_buffer_life *nb_buffer_life_find(const struct nb_conversation *conversation, uint32_t number);

/* conversation-control.c. `ack` is a high-seq from the wire. */
void nb_converse_control(struct nb_event *event);
void nb_converse_ack(struct nb_event *event, uint16_t high_seq);

/* The life of the message with this sequence number in a CONTROL with this record; NULL when there is none. */
const struct nb_message_life *nb_message_life(const struct nb_record *record, uint16_t seq);

/* bursts.c */
void nb_converse_burst(struct nb_event *event);

#endif
