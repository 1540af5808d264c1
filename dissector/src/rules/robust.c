/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ROBUST-03..08, TIMER-12, DEMUX-03: one end emits what no end should, or what needs no reply, and its peer goes
 * on. That it went on is all that packets show; what a breach does to them has rules of its own (CTRL-06, CTRL-14,
 * OPEN-10 ...), and what is wrong with the packet itself is the fault of its emitter (WIRE-nn and others). */
#include "rules/robust.h"

#include "rules/judge.h"

static size_t place;

/* By end: anomalies (enum nb_odd) since the peer's newest packet. */
static unsigned *odd_of(const struct nb_event *event)
{
    return (unsigned *)nb_stream_reserved(event->stream, place);
}

void nb_robust_register(void)
{
    place = nb_stream_reserve(2 * sizeof(unsigned));
}

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
    odd_of(event)[event->end] |= odd;
}

/* What this packet of the peer shows of those anomalies. Refusing a connection for its reserved bits is no service;
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
    const struct nb_end *peer = &stream->end[1 - event->end];

    return event->packet->type == NB_ABORT && !stream->open_seen && !stream->response_seen && peer->packets > 0 &&
           stream->end[event->end].packets == 0 && peer->abort.frame == 0;
}

void nb_robust_packet(const struct nb_event *event)
{
    const struct nb_end *peer = &event->stream->end[1 - event->end];
    unsigned *odd = &odd_of(event)[1 - event->end];
    const unsigned shown = *odd & shown_by(event->packet->type);

    for (size_t i = 0; shown != 0 && i < array_length(borne); i++) {
        if (shown & borne[i].odd) {
            nb_keep(event, borne[i].rule);
        }
    }
    *odd = 0;
    if (answers_unknown(event)) {
        nb_keep(event, NB_RULE_DEMUX_UNKNOWN);
    }
    if (event->packet->type == NB_KEEPALIVE) {
        nb_robust_odd(event, NB_ODD_KEEPALIVE);
    } else if (event->packet->type == NB_REFUSED && peer->transfer.frame != 0) {
        nb_robust_odd(event, NB_ODD_DIRECTION);
    }
}
