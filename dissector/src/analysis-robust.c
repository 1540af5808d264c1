/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ROBUST-03..08, TIMER-12, DEMUX-03: one end emits what no end should, or what asks for nothing, and the other end goes
 * on. That it went on is all that packets show; what a breach does to them has rules of its own (CTRL-06, CTRL-14,
 * OPEN-10 ...), and what is wrong with the packet itself is the fault of its emitter (WIRE-nn and others). */
#include "analysis.h"

static const struct {
    unsigned odd;
    enum nb_rule rule;
} borne[] = {
    {NB_ODD_RESEND, NB_RULE_ROBUST_RESEND},    {NB_ODD_RESERVED, NB_RULE_ROBUST_RESERVED},
    {NB_ODD_STRING, NB_RULE_ROBUST_STRING},    {NB_ODD_DATA, NB_RULE_ROBUST_DATA},
    {NB_ODD_CONTROL, NB_RULE_ROBUST_CONTROL},  {NB_ODD_DIRECTION, NB_RULE_ROBUST_DIRECTION},
    {NB_ODD_KEEPALIVE, NB_RULE_TIMER_ONE_WAY},
};

void nb_robust_odd(const struct nb_event *event, enum nb_odd odd)
{
    event->stream->facts->side[event->end].odd |= odd;
}

/* What this packet of the other end says of those odd ones. Refusing a connection for its reserved bits is no service;
 * an ABORT may answer a wrong OK or DONE, and a KEEPALIVE must not answer a KEEPALIVE. */
static unsigned shown_by(uint8_t type)
{
    switch (type) {
    case NB_REFUSED:
        return NB_ODD_STRING;
    case NB_ABORT:
        return NB_ODD_CONTROL;
    case NB_KEEPALIVE:
        return ~(unsigned)NB_ODD_KEEPALIVE;
    default:
        return ~0U;
    }
}

/* DEMUX-03: to packets of no connection silence or one ABORT are right. */
static bool answers_unknown(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_side *peer = &stream->facts->side[1 - event->end];

    return event->packet->type == NB_ABORT && !stream->open_seen && !stream->response_seen && peer->packets > 0 &&
           stream->facts->side[event->end].packets == 0 && peer->abort.frame == 0;
}

void nb_robust_packet(const struct nb_event *event)
{
    struct nb_side *peer = &event->stream->facts->side[1 - event->end];
    const unsigned shown = peer->odd & shown_by(event->packet->type);

    for (size_t i = 0; shown != 0 && i < array_length(borne); i++) {
        if (shown & borne[i].odd) {
            nb_keep(event, borne[i].rule);
        }
    }
    peer->odd = 0;
    if (answers_unknown(event)) {
        nb_keep(event, NB_RULE_DEMUX_UNKNOWN);
    }
    if (event->packet->type == NB_KEEPALIVE) {
        nb_robust_odd(event, NB_ODD_KEEPALIVE);
    } else if (event->packet->type == NB_REFUSED && peer->transferred) {
        nb_robust_odd(event, NB_ODD_DIRECTION);
    }
}
