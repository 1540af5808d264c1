/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What should have come and did not: a CONTROL that is not repeated or not acknowledged, KEEPALIVEs that stop or are
 * too rare, a QUIT that is not repeated (RFC 998 5.2.1, 5.2.3, 5.3.2): CTRL-10, QUIT-02, TIMER-01, 10, 11. Each packet
 * shows how long the connection has waited. Nothing of this is more than suspected: what is missing may have been lost
 * before the capture, or what would excuse it. */
#include "analysis.h"

/* Behind the last OK, or when an end has left, nobody is waited for. */
static bool goes_on(const struct nb_stream *stream)
{
    const struct nb_facts *facts = stream->facts;

    return stream->response_seen && !stream->closed && facts->side[0].quits == 0 && facts->side[1].quits == 0 &&
           !(facts->last_known && facts->last_ok_seq != 0 && facts->final_acked);
}

/* TIMER-01: while a message is not acknowledged its CONTROL is repeated. */
static void judge_repetition(const struct nb_event *event)
{
    enum { TIMES_PUBLISHED = 10, ROUND_TRIPS = 10 };
    const double shortest_s = 3;
    const double without_timer_s = 10;
    const struct nb_stream *stream = event->stream;
    struct nb_queue *queue = &stream->facts->queue;
    const struct nb_charge charge = {.rule = NB_RULE_TIMER_CONTROL,
                                     .offender = 1 - stream->sender,
                                     .offending_frame = queue->told_frame,
                                     .excuse = "its repetitions, or the acknowledgement, may have escaped the capture"};

    if (queue->told_frame == 0 || queue->unrepeated_told || stream->newest <= stream->acked ||
        (event->packet->type == NB_CONTROL && event->end != stream->sender)) {
        return;
    }
    double limit_s =
        queue->published == 0 ? without_timer_s : MAX(queue->published * TIMES_PUBLISHED / 1000.0, shortest_s);
    limit_s = MAX(limit_s, ROUND_TRIPS * nb_round_trip_s(&stream->reaction));
    if (event->now - queue->told_when > limit_s) {
        queue->unrepeated_told = true;
        nb_blame(event, &charge, "message %u is not acknowledged, and its CONTROL was not repeated for %.1f s",
                 (uint16_t)stream->newest, event->now - queue->told_when);
    }
}

/* CTRL-10: the sender emits packets, and none that acknowledges anything. analysis-acks.c judges those that do. */
static void judge_duty(const struct nb_event *event)
{
    const double patience_s = 3.0;
    const struct nb_stream *stream = event->stream;
    struct nb_queue *queue = &stream->facts->queue;
    const struct nb_charge charge = {.rule = NB_RULE_CTRL_ACK_DUTY,
                                     .offender = event->end,
                                     .request_frame = queue->told_frame,
                                     .excuse = "the CONTROL may have been lost behind the capture"};

    if (event->packet->type != NB_KEEPALIVE || event->end != stream->sender || queue->told_frame == 0 ||
        queue->waits_told || stream->newest <= stream->acked || event->now - queue->emitted_when <= patience_s ||
        nb_told_find(&stream->facts->told, stream->acked + 1) == NULL) {
        return;
    }
    queue->waits_told = true;
    nb_blame(event, &charge, "KEEPALIVE, and nothing acknowledges message %u, which came %.1f s ago",
             (uint16_t)stream->newest, event->now - queue->emitted_when);
}

/* TIMER-11: the other end has been silent for longer than this one waits. */
static void judge_silence(const struct nb_event *event)
{
    const struct nb_facts *facts = event->stream->facts;
    const struct nb_side *side = &facts->side[event->end];
    struct nb_side *peer = &event->stream->facts->side[1 - event->end];
    const struct nb_charge charge = {.rule = NB_RULE_TIMER_KEEPALIVE,
                                     .offender = 1 - event->end,
                                     .excuse =
                                         "its packets may have been lost before the capture, or its host may be down"};

    if (side->terms.death_timer > 0 && peer->last_when >= 0 && !peer->silence_told &&
        event->now - peer->last_when > side->terms.death_timer) {
        peer->silence_told = true;
        nb_blame(event, &charge, "nothing came from %s for %.1f s, the death timer here is %u s",
                 nb_offender(event->stream, 1 - event->end), event->now - peer->last_when, side->terms.death_timer);
    }
}

/* TIMER-11: "several KEEPALIVE packets can be lost before the other end's death timer expires". Where the IP IDs do not
 * show that none was lost before the capture, one long silence says nothing. */
static void judge_gap(const struct nb_event *event)
{
    enum { IN_A_ROW = 3 };
    const double most = 0.4; /* of the death timer: two in a row may be lost, and the third comes a little late */
    const struct nb_stream *stream = event->stream;
    struct nb_side *side = &stream->facts->side[event->end];
    const struct nb_side *peer = &stream->facts->side[1 - event->end];
    const double gap = event->now - side->last_when;
    const struct nb_charge charge = {.rule = NB_RULE_TIMER_KEEPALIVE,
                                     .offender = event->end,
                                     .excuse = "packets may have been lost before the capture"};

    if (peer->terms.death_timer == 0 || side->last_when < 0) {
        return;
    }
    const bool sparse = gap > peer->terms.death_timer * most;
    side->sparse = sparse ? (uint8_t)MIN(side->sparse + 1, IN_A_ROW) : 0;
    if (gap > peer->terms.death_timer) {
        if (!side->silence_told) {
            nb_blame(event, &charge, "silent for %.1f s, the peer's death timer is %u s", gap, peer->terms.death_timer);
        }
    } else if (sparse && !side->sparse_told &&
               ((event->emitted.arrival == NB_IN_ORDER && event->emitted.step == 1) || side->sparse == IN_A_ROW)) {
        side->sparse_told = true;
        nb_blame(event, &charge, "silent for %.1f s, the peer's death timer of %u s leaves no room for several losses",
                 gap, peer->terms.death_timer);
    } else if (event->packet->type == NB_KEEPALIVE) {
        nb_keep(event, NB_RULE_TIMER_KEEPALIVE);
    }
    side->silence_told = false;
}

/* TIMER-10 */
static void note_survival(const struct nb_event *event)
{
    const struct nb_side *side = &event->stream->facts->side[event->end];
    const struct nb_side *peer = &event->stream->facts->side[1 - event->end];

    if (side->terms.death_timer > 0 && peer->last_when >= 0 && side->last_when >= 0 &&
        event->now - peer->last_when > side->terms.death_timer * 1.5) {
        nb_remark(event, NB_NOTES_DEATH, "goes on after %.1f s without a packet from the peer, its death timer is %u s",
                  event->now - peer->last_when, side->terms.death_timer);
    }
}

/* QUIT-02: it is repeated until a QUITACK comes or the death timer expires. */
static void judge_quit(const struct nb_event *event, int quitter)
{
    const double longest_s = 5;
    const struct nb_stream *stream = event->stream;
    struct nb_side *side = &stream->facts->side[quitter];
    const struct nb_side *peer = &stream->facts->side[1 - quitter];
    const double limit_s = side->terms.death_timer == 0 ? longest_s : MIN(longest_s, side->terms.death_timer / 2.0);
    const struct nb_charge charge = {.rule = NB_RULE_QUIT_REPEATED,
                                     .offender = quitter,
                                     .offending_frame = side->quit_asked.frame,
                                     .excuse = "its repetitions, or the QUITACK, may have escaped the capture"};

    if (side->quits != 1 || side->quit_told || peer->quitacks > 0 || peer->quits > 0 || peer->abort.frame != 0 ||
        side->abort.frame != 0 || (event->end == quitter && event->packet->type == NB_QUIT) ||
        (event->end != quitter && event->packet->type == NB_QUITACK) || event->now - side->quit_when <= limit_s) {
        return;
    }
    side->quit_told = true;
    nb_blame(event, &charge, "QUIT was not repeated for %.1f s, and no QUITACK came", event->now - side->quit_when);
}

void nb_absence_packet(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_side *sides = stream->facts->side;

    if (sides[0].quits + sides[1].quits > 0) {
        judge_quit(event, 0);
        judge_quit(event, 1);
    }
    if (!goes_on(stream)) {
        return;
    }
    judge_gap(event);
    judge_silence(event);
    note_survival(event);
    judge_duty(event);
    judge_repetition(event);
}
