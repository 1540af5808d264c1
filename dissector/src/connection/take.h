/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds a packet to the model of its connection. */
#ifndef NETBLT_TAKE_H
#define NETBLT_TAKE_H

#include "connection/event.h"

/* First pass: takes a packet that counts (sound, checksum not wrong), and fills its record and what `event` states
 * about the model. False: it is a copy of a packet that was taken before, and adds nothing. */
bool nb_take_packet(struct nb_event *event);

/* take-opening.c, take-control.c, take-data.c, take-burst.c: parts of it. */
void nb_take_opening(struct nb_event *event);
void nb_take_control(struct nb_event *event);
void nb_take_ack(struct nb_event *event);
void nb_note_ack(const struct nb_event *event); /* the link to what it acknowledges */
void nb_take_data(struct nb_event *event);
void nb_take_burst(struct nb_event *event);

/* The packet holds message 1 first. */
bool nb_begins_with_message_1(const struct nb_packet *packet);

/* The life of the message with this sequence number in a CONTROL with this record; NULL when there is none. */
const struct nb_message_life *nb_message_life(const struct nb_record *record, uint16_t seq);

#endif
