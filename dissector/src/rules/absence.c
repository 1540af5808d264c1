/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets that are due and do not appear: a CONTROL that is not repeated or not acknowledged, KEEPALIVEs that stop or
 * are too rare, a QUIT that is not repeated (RFC 998 5.2.1, 5.2.3, 5.3.2): CTRL-10, QUIT-02, TIMER-01, 10, 11. Each
 * packet shows how long the connection has waited. Nothing of this is more than suspected: what is missing may have
 * been lost before the capture, or what would excuse it. */
#include "rules/absence.h"

#include "rules/close.h"
#include "rules/duty.h"
#include "rules/judge.h"

/* Of one end. */
struct waiter {
    bool silence_told;   /* reported that it has emitted nothing for longer than the peer waits */
    bool sparse_told;    /* reported that it is silent too often for too long */
    bool quit_told;      /* reported that its QUIT is not repeated */
    bool may_be_gone;    /* received nothing for its own death timer (TIMER-10): from then on it owes nothing */
    bool counted;        /* its peer takes some packet of it for sound, */
    double counted_when; /* the newest of them, s */
    uint8_t sparse;      /* silences in a row that leave no room for losses */
};

struct absence {
    struct waiter waiter[2];
    uint32_t unrepeated; /* reported that the CONTROL with the newest messages, in this frame, is not repeated, */
    uint32_t never;      /* and the same for so long that no control timer can be running */
};

static size_t place;

void nb_absence_register(void)
{
    place = nb_stream_reserve(sizeof(struct absence));
}

static struct absence *absence_of(const struct nb_event *event)
{
    return (struct absence *)nb_stream_reserved(event->stream, place);
}

static struct waiter *waiter_of(const struct nb_event *event, int end)
{
    return &absence_of(event)->waiter[end];
}

bool nb_goes_on(const struct nb_stream *stream)
{
    return stream->response_seen && !stream->closed && stream->end[0].quits == 0 && stream->end[1].quits == 0 &&
           !(stream->last.known && stream->last.ok_seq != 0 && stream->final_ok.acked &&
             nb_close_open_buffer(stream) == NULL);
}

/* TIMER-01: while a message is not acknowledged its CONTROL is repeated. */
static void judge_repetition(const struct nb_event *event)
{
    enum { TIMES_PUBLISHED = 10, ROUND_TRIPS = 10 };
    const double shortest_s = 3;
    const double without_timer_s = 10;
    const double longest_s = 20; /* of any control timer, as in the suite's oracles */
    const struct nb_stream *stream = event->stream;
    const struct nb_queue *queue = &stream->queue;
    struct absence *absence = absence_of(event);
    const bool never = event->now - queue->when > longest_s;
    uint32_t *reported = never ? &absence->never : &absence->unrepeated;
    const struct nb_charge charge = {.rule = NB_RULE_TIMER_CONTROL,
                                     .offender = 1 - stream->sender,
                                     .offending_frame = queue->frame,
                                     .unseen = never,
                                     .excuse = "its repetitions, or the acknowledgement, may have escaped the capture"};

    if (queue->frame == 0 || *reported == queue->fresh_frame || stream->newest <= stream->acked ||
        waiter_of(event, 1 - stream->sender)->may_be_gone ||
        (event->packet->type == NB_CONTROL && event->end != stream->sender)) {
        return;
    }
    double limit_s =
        queue->published == 0 ? without_timer_s : MAX(queue->published * TIMES_PUBLISHED / 1000.0, shortest_s);
    limit_s = MAX(limit_s, ROUND_TRIPS * nb_round_trip_s(&stream->reaction));
    if (never && absence->unrepeated == queue->fresh_frame && !nb_sees_all_of(stream, charge.offender)) {
        return; /* nothing new */
    }
    if (event->now - queue->when > limit_s) {
        *reported = queue->fresh_frame;
        nb_blame(event, &charge, "message %u is not acknowledged, and its CONTROL was not repeated for %.1f s",
                 (uint16_t)stream->newest, event->now - queue->when);
    }
}

/* When the silence of an end began. The active end has a connection, and knows the death timer of its peer, from the
 * RESPONSE on (5.2.3): what it owes begins then. */
static double silent_since(const struct nb_event *event, int end, const double previous[2])
{
    const struct nb_stream *stream = event->stream;
    const nb_moment answered = stream->conversation.first_of[1 - end][NB_RESPONSE];

    if (previous[end] < 0 || stream->active != end || answered == 0) {
        return previous[end];
    }
    return MAX(previous[end], nb_seconds(nb_time_of(answered)));
}

/* TIMER-11: the peer has been silent for longer than this one waits. */
static void judge_silence(const struct nb_event *event, double peer_last)
{
    const unsigned death_timer = nb_terms_by(event->stream, event->end)->death_timer; /* s */
    struct waiter *peer = waiter_of(event, 1 - event->end);
    const struct nb_charge charge = {.rule = NB_RULE_TIMER_KEEPALIVE,
                                     .offender = 1 - event->end,
                                     .excuse =
                                         "its packets may have been lost before the capture, or its host may be down"};

    if (death_timer > 0 && peer_last >= 0 && !peer->silence_told && event->now - peer_last > death_timer) {
        peer->silence_told = true;
        nb_blame(event, &charge, "nothing was received from %s for %.1f s, the death timer here is %u s",
                 nb_offender(event->stream, 1 - event->end), event->now - peer_last, death_timer);
    }
}

/* TIMER-11: "several KEEPALIVE packets can be lost before" the peer's death timer expires. Where the IP IDs do not
 * show that none was lost before the capture, one long silence shows nothing. */
static void judge_gap(const struct nb_event *event, double last_when)
{
    const unsigned death_timer = nb_terms_by(event->stream, 1 - event->end)->death_timer; /* s */
    enum { IN_A_ROW = 3 };
    const double most = 0.4; /* of the death timer: two in a row may be lost, and the third comes a little late */
    struct waiter *waiter = waiter_of(event, event->end);
    const double gap = event->now - last_when;
    const struct nb_charge charge = {.rule = NB_RULE_TIMER_KEEPALIVE,
                                     .offender = event->end,
                                     .unseen = gap > death_timer,
                                     .excuse = "packets may have been lost before the capture"};

    if (death_timer == 0 || last_when < 0) {
        return;
    }
    const bool sparse = gap > death_timer * most;
    waiter->sparse = sparse ? (uint8_t)MIN(waiter->sparse + 1, IN_A_ROW) : 0;
    if (gap > death_timer) {
        if (!waiter->silence_told || nb_sees_all_of(event->stream, event->end)) {
            nb_blame(event, &charge, "silent for %.1f s, the peer's death timer is %u s", gap, death_timer);
        }
    } else if (sparse && !waiter->sparse_told &&
               ((event->emitted.arrival == NB_IN_ORDER && event->emitted.step == 1) || waiter->sparse == IN_A_ROW)) {
        waiter->sparse_told = true;
        nb_blame(event, &charge, "silent for %.1f s, the peer's death timer of %u s leaves no room for several losses",
                 gap, death_timer);
    } else if (event->packet->type == NB_KEEPALIVE) {
        nb_keep(event, NB_RULE_TIMER_KEEPALIVE);
    }
    waiter->silence_told = false;
}

/* TIMER-10: the peer, which received nothing in the meantime, may have given up. It may take a checksum over the data
 * for a wrong one (AMB-04). */
static void note_death(const struct nb_event *event)
{
    const double tick_s = 0.05; /* clocks of hosts tick, and their timers expire up to one tick early */
    const unsigned death_timer = nb_terms_by(event->stream, 1 - event->end)->death_timer; /* s */
    struct waiter *waiter = waiter_of(event, event->end);

    if (death_timer > 0 && waiter->counted && event->now - waiter->counted_when > death_timer - tick_s) {
        waiter_of(event, 1 - event->end)->may_be_gone = true;
    }
    if (event->packet->header_checksum != NB_COVERS_DATA) {
        waiter->counted = true;
        waiter->counted_when = event->now;
    }
}

/* TIMER-10 */
static void note_survival(const struct nb_event *event, const double previous[2])
{
    const unsigned death_timer = nb_terms_by(event->stream, event->end)->death_timer; /* s */
    const double own = previous[event->end], peers = previous[1 - event->end];

    if (death_timer > 0 && peers >= 0 && own >= 0 && event->now - peers > death_timer * 1.5) {
        nb_remark(event, NB_NOTES_DEATH,
                  "continues after %.1f s without a packet from the peer, its death timer is %u s", event->now - peers,
                  death_timer);
    }
}

/* QUIT-02: it is repeated until a QUITACK comes or the death timer expires. */
static void judge_quit(const struct nb_event *event, int quitter)
{
    const unsigned death_timer = nb_terms_by(event->stream, quitter)->death_timer; /* s */
    const double longest_s = 5;
    const struct nb_stream *stream = event->stream;
    const struct nb_end *side = &stream->end[quitter];
    struct waiter *waiter = waiter_of(event, quitter);
    const struct nb_end *peer = &stream->end[1 - quitter];
    const double limit_s = death_timer == 0 ? longest_s : MIN(longest_s, death_timer / 2.0);
    const struct nb_charge charge = {.rule = NB_RULE_QUIT_REPEATED,
                                     .offender = quitter,
                                     .offending_frame = side->quit_asked.frame,
                                     .unseen = true,
                                     .excuse = "its repetitions, or the QUITACK, may have escaped the capture"};

    if (side->quits != 1 || waiter->quit_told || peer->quitacks > 0 || peer->quits > 0 || peer->abort.frame != 0 ||
        side->abort.frame != 0 || (event->end == quitter && event->packet->type == NB_QUIT) ||
        (event->end != quitter && event->packet->type == NB_QUITACK) || event->now - side->quit_when <= limit_s) {
        return;
    }
    waiter->quit_told = true;
    nb_blame(event, &charge, "QUIT was not repeated for %.1f s, and no QUITACK was received",
             event->now - side->quit_when);
}

void nb_absence_packet(const struct nb_event *event, const double previous[2])
{
    const struct nb_stream *stream = event->stream;

    note_death(event);
    if (stream->end[0].quits + stream->end[1].quits > 0) {
        judge_quit(event, 0);
        judge_quit(event, 1);
    }
    if (!nb_goes_on(stream)) {
        return;
    }
    judge_gap(event, silent_since(event, event->end, previous));
    judge_silence(event, silent_since(event, 1 - event->end, previous));
    note_survival(event, previous);
    nb_duty_keepalive(event);
    judge_repetition(event);
}
