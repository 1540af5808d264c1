/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pace (RFC 998 section 4): RATE-01, 02, 03, 05. Every span T may hold size * (T / interval + 2) packets: one burst
 * at either edge. A bucket checks the same in constant time: it holds two bursts and drains a burst per interval. The
 * loosest pair that may be in force counts. Only a capture at the sender shows its clock; elsewhere queues compress
 * bursts. */
#include "rules/rate.h"

#include "rules/judge.h"

#define BURSTS_AT_ONCE 2.0

enum { PACED_KEPT = 4 };

/* Lets every span T have size * (T / interval + 2) packets. */
struct bucket {
    double level; /* packets */
    double when;
    struct nb_pace pace;    /* loosest that may be in force; size 0 not known */
    struct nb_pace settled; /* RATE-05: loosest since the OK settled_from; size 0 not known */
    int64_t settled_from;
    double settled_level;
    double settled_when;
    uint32_t recent[PACED_KEPT]; /* contents of the last packets */
    uint8_t recent_at;
    uint32_t in_burst;
    uint32_t largest_burst;
};

static size_t place;

void nb_rate_register(void)
{
    place = nb_stream_reserve(sizeof(struct bucket));
}

static struct bucket *bucket_of(const struct nb_event *event)
{
    return (struct bucket *)nb_stream_reserved(event->stream, place);
}

void nb_rate_offer(const struct nb_event *event, struct nb_pace pace)
{
    struct bucket *bucket = bucket_of(event);

    if (pace.size == 0) {
        return; /* AMB-11: the old size stays */
    }
    if (bucket->pace.size == 0) {
        bucket->pace = pace;
    } else {
        bucket->pace = nb_looser(bucket->pace, pace);
    }
    if (bucket->settled.size != 0) {
        bucket->settled = nb_looser(bucket->settled, pace);
    }
}

/* What has been offered since the OK `from`. Size 0 when a message escaped the capture: it may be an offer. */
static struct nb_pace offered_since(const struct nb_stream *stream, int64_t from)
{
    struct nb_pace pace = {0, UINT16_MAX};

    for (int64_t seq = from; seq <= stream->newest; seq++) {
        const struct nb_message_life *told = nb_message_find(&stream->messages, seq);
        if (told == NULL && (uint16_t)seq != 0) { /* AMB-12: some skip 0 */
            return (struct nb_pace){0};
        }
        if (told != NULL && told->type == NB_OK && told->burst_size != 0) {
            pace = nb_looser(pace, (struct nb_pace){told->burst_size, told->burst_interval});
        }
    }
    return pace;
}

/* Packets of the buffers before count for the new pace as long as it is the same. */
static void settle(const struct nb_stream *stream, struct bucket *bucket, int64_t from)
{
    const struct nb_pace before = bucket->settled;

    bucket->settled_from = from;
    bucket->settled = offered_since(stream, from);
    if (bucket->settled.size != before.size || bucket->settled.interval != before.interval) {
        bucket->settled_level = 0;
    }
}

/* What is left of a bucket after `gap` seconds. A clock that was set back does not show how many they were. */
static double drain(double level, double gap, struct nb_pace pace)
{
    return gap < 0 ? 0 : MAX(level - gap * 1000.0 / pace.interval * pace.size, 0.0);
}

/* RATE-05, NEG-09: a buffer whose GO came when the sender knew an OK goes out at the pace of that OK or of a later one
 * (AMB-43). Other buffers beside it do not count. */
static void judge_settled(const struct nb_event *event, const struct nb_buffer *buffer)
{
    struct bucket *bucket = bucket_of(event);
    struct nb_charge charge = {
        .rule = NB_RULE_RATE_CHANGED, .offender = event->end, .request_frame = nb_frame_of(buffer->life->go)};

    if (buffer->pace_seq == 0 || buffer->pace_seq < bucket->settled_from) {
        return;
    }
    if (buffer->pace_seq > bucket->settled_from) {
        settle(event->stream, bucket, buffer->pace_seq);
    }
    const struct nb_pace pace = bucket->settled;
    if (pace.size == 0 || pace.interval == 0) {
        return;
    }
    bucket->settled_level = drain(bucket->settled_level, event->now - bucket->settled_when, pace) + 1.0;
    bucket->settled_when = event->now;
    if (bucket->settled_level <= BURSTS_AT_ONCE * pace.size + 1e-6) {
        nb_keep(event, NB_RULE_RATE_CHANGED);
        return;
    }
    bucket->settled_level = pace.size;
    if (pace.size >= bucket->pace.size && pace.interval <= bucket->pace.interval) {
        return; /* nothing was changed: too fast it is all the same (RATE-01, RATE-02) */
    }
    nb_blame(event, &charge, "more packets of buffers since the offer than bursts of %u every %u ms", pace.size,
             pace.interval);
    charge.rule = NB_RULE_NEG_RESTRICT;
    nb_blame(event, &charge, "sends faster than the %u packets per %u ms that were offered", pace.size, pace.interval);
}

/* Packets close together are a burst; `gap` is the time since the packet before, in seconds. */
static void count_burst(struct bucket *bucket, double gap)
{
    enum { GAPS_PER_INTERVAL = 8 };

    if (gap > bucket->pace.interval / 1000.0 / GAPS_PER_INTERVAL) {
        bucket->in_burst = 0;
    }
    bucket->in_burst++;
    bucket->largest_burst = MAX(bucket->largest_burst, bucket->in_burst);
}

/* The times of the capture are those at which the sender emitted its packets. Where the capture of the peer is
 * beside it the user stated where it was made, and not that the times are good for this: a relay or a busy host may
 * stamp several packets late, and together. */
static bool shows_pace(const struct nb_event *event)
{
    return event->at_sender && event->stream->point.hosts == NULL;
}

static void overflow(const struct nb_event *event, struct bucket *bucket, bool repeated)
{
    const enum nb_rule rule = repeated                                    ? NB_RULE_RATE_REPAIRS
                              : bucket->largest_burst > bucket->pace.size ? NB_RULE_RATE_BURST
                                                                          : NB_RULE_RATE_INTERVAL;
    const struct nb_charge charge = {.rule = rule, .offender = event->end};

    bucket->level = bucket->pace.size;
    bucket->largest_burst = 0;
    if (shows_pace(event)) {
        nb_blame(event, &charge, "more packets than bursts of %u every %u ms", bucket->pace.size,
                 bucket->pace.interval);
    } else {
        nb_remark(event, NB_NOTES_RATE,
                  "more packets than bursts of %u every %u ms, perhaps compressed "
                  "on the way",
                  bucket->pace.size, bucket->pace.interval);
    }
}

/* The same packet, acknowledgement and all, so soon again, where no IP ID shows it: the capture saw it twice. */
static bool is_seen_twice(const struct nb_event *event, struct bucket *bucket)
{
    bool twice = false;

    if (event->emitted.arrival != NB_NO_ORDER) {
        return false; /* copies do not come here */
    }
    for (int i = 0; i < PACED_KEPT; i++) {
        twice = twice || bucket->recent[i] == event->content;
    }
    bucket->recent[bucket->recent_at++ % PACED_KEPT] = event->content;
    return twice;
}

void nb_rate_packet(const struct nb_event *event, const struct nb_buffer *buffer, bool repeated)
{
    struct bucket *bucket = bucket_of(event);

    if (is_seen_twice(event, bucket)) {
        return;
    }
    if (shows_pace(event) && buffer != NULL) {
        judge_settled(event, buffer);
    }
    if (bucket->pace.size == 0 || bucket->pace.interval == 0) {
        return;
    }
    const double gap = event->now - bucket->when;
    bucket->when = event->now;
    bucket->level = drain(bucket->level, gap, bucket->pace) + 1.0;
    count_burst(bucket, gap);
    if (bucket->level > BURSTS_AT_ONCE * bucket->pace.size + 1e-6) {
        overflow(event, bucket, repeated);
    } else if (shows_pace(event)) {
        nb_keep(event, NB_RULE_RATE_BURST);
        nb_keep(event, NB_RULE_RATE_INTERVAL);
        nb_keep(event, NB_RULE_R1986_INTERVAL);
        if (repeated) {
            nb_keep(event, NB_RULE_RATE_REPAIRS);
        }
    }
}
