/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_EVENTS_H
#define NETBLT_EVENTS_H

#include <netblt/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct netblt_connection netblt_connection;

/* What an endpoint tells an observer (netblt_config.event): a log, a trace, a test. Nothing is remembered for it, and
 * without an observer nothing is spent on it. The callback runs in the midst of the core's work: it may look at the
 * event and at netblt_get_info(), and must call nothing else of the endpoint. */
enum netblt_event_kind {
    NETBLT_EVENT_PACKET_SENT,     /* packet; as often as stats.packets_sent counts, while the connection lives */
    NETBLT_EVENT_PACKET_RECEIVED, /* packet; its checksum holds and it belongs to the connection */
    NETBLT_EVENT_PACKET_DROPPED,  /* packet; connection may be NULL; `why` says why. A DATA packet whose header is good
                                   * and whose data is of no use was received before it was dropped. */
    NETBLT_EVENT_STATE,           /* state: the connection's new one; the first is OPENING or, if passive, OPEN */
    NETBLT_EVENT_TIMER_SET,       /* timer; again while it runs when it is moved */
    NETBLT_EVENT_TIMER_CLEARED,   /* timer, without `until`: it ran and was stopped */
    NETBLT_EVENT_TIMER_EXPIRED,   /* timer, without `until`: it ran and came due; it may be set anew at once */
    NETBLT_EVENT_RATE,            /* rate; first when the connection opens: the negotiated pair */
    NETBLT_EVENT_BUFFER_DONE,     /* buffer: its OK was queued (receiver) or has arrived (sender) */
};

/* DEATH and KEEPALIVE are moved by every packet received and sent: that alone is not told. */
enum netblt_timer {
    NETBLT_TIMER_OPEN,
    NETBLT_TIMER_CONTROL,
    NETBLT_TIMER_DATA, /* `buffer` says which */
    NETBLT_TIMER_DEATH,
    NETBLT_TIMER_KEEPALIVE,
    NETBLT_TIMER_DALLY,
    NETBLT_TIMER_QUIT,
};

typedef struct netblt_event {
    enum netblt_event_kind kind;
    netblt_time at;
    netblt_connection *connection; /* NULL when a packet belongs to none */
    const char *why;               /* a constant sentence, or NULL */
    union {
        struct {
            const uint8_t *bytes; /* valid during the callback */
            size_t length;
        } packet;
        int state; /* enum netblt_state */
        struct {
            enum netblt_timer which;
            uint64_t buffer; /* NETBLT_TIMER_DATA: index of the buffer */
            netblt_time until;
        } timer;
        struct {
            uint16_t burst_size; /* a receiver's new offer, or what a sender settled on */
            uint16_t burst_interval_ms;
            netblt_time round_trip_us;
            uint64_t measured_bps; /* arrival rate behind the decision; 0 = none */
        } rate;
        struct {
            uint64_t index;
            uint32_t length;
        } buffer;
    };
} netblt_event;

typedef void netblt_event_fn(void *context, const netblt_event *event);

#ifdef __cplusplus
}
#endif

#endif
