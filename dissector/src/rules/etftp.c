/* SPDX-License-Identifier: GPL-2.0-or-later */
/* R1986-01, 10, 11, 27: the carrier, what is repeated, and the end of a connection in RFC 1986. Known errata: both
 * QUITACK and DONE acknowledge QUIT (2.1). */
#include "rules/etftp.h"

#include "decode/netblt.h"
#include "rules/judge.h"

/* Of one end. */
struct asker {
    double when;         /* its newest OPEN or QUIT, s since the first frame */
    uint8_t type;        /* of that, + 1; 0: none */
    unsigned unanswered; /* QUITs in a row without QUITACK or DONE */
    struct nb_mark quit; /* the first of them */
};

struct etftp {
    struct asker asker[2];
};

static size_t place;

void nb_etftp_register(void)
{
    place = nb_stream_reserve(sizeof(struct etftp));
    nb_etftp_setup_register();
    nb_etftp_offers_register();
    nb_etftp_numbers_register();
}

/* R1986-11: 5 s and more (2.5). A path may hold the first of two up. */
static void judge_patience(const struct nb_event *event, struct asker *asker)
{
    const double first_timeout_s = 5;
    const double far_too_soon_s = 2.5;
    const uint8_t type = event->packet->type;
    const double since = event->now - asker->when;
    const struct nb_charge charge = {
        .rule = NB_RULE_R1986_TIMERS, .offender = event->end, .excuse = "the one before may have been held up"};

    if (asker->type == type + 1 && event->emitted.arrival != NB_LATE) {
        if (since >= first_timeout_s) {
            nb_keep(event, NB_RULE_R1986_TIMERS);
        } else if (since < far_too_soon_s && event->emitted.arrival != NB_NO_ORDER) {
            nb_blame(event, &charge, "%s is repeated after %.1f s, RFC 1986 waits for 5 s and more", nb_type_name(type),
                     since);
        }
    }
    asker->type = (uint8_t)(type + 1);
    asker->when = event->now;
}

/* R1986-27 */
static void judge_quit(const struct nb_event *event, struct asker *asker)
{
    enum { UNANSWERED = 4 };
    const struct nb_charge charge = {.rule = NB_RULE_R1986_QUIT,
                                     .offender = 1 - event->end,
                                     .request_frame = asker->quit.frame,
                                     .excuse = "the answers may have been lost, or the time to answer is over"};

    if (asker->unanswered == 0) {
        asker->quit = nb_mark_of(event);
    }
    if (++asker->unanswered == UNANSWERED) {
        nb_blame(event, &charge, "QUIT is repeated, no answer was captured");
    }
}

/* R1986-10, R1986-27 */
static void take_answer(const struct nb_event *event, struct asker *asker)
{
    if (asker->type != NB_QUIT + 1) {
        return;
    }
    asker->unanswered = 0;
    nb_keep(event, NB_RULE_R1986_QUIT);
    if (event->packet->type == NB_DONE && event->end != event->stream->sender) {
        nb_keep(event, NB_RULE_R1986_CLOSE);
    }
}

void nb_etftp_packet(const struct nb_event *event)
{
    struct etftp *state = (struct etftp *)nb_stream_reserved(event->stream, place);

    if (event->over_udp) {
        nb_keep(event, NB_RULE_R1986_CARRIER);
    }
    nb_etftp_offers(event);
    nb_etftp_numbers(event);
    switch (event->packet->type) {
    case NB_OPEN:
        judge_patience(event, &state->asker[event->end]);
        nb_etftp_setup(event);
        break;
    case NB_RESPONSE:
        nb_etftp_setup(event);
        break;
    case NB_QUIT:
        judge_patience(event, &state->asker[event->end]);
        judge_quit(event, &state->asker[event->end]);
        break;
    case NB_QUITACK:
    case NB_DONE:
        take_answer(event, &state->asker[1 - event->end]);
        break;
    default:
        break;
    }
}
