/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that an endpoint reports to an observer (netblt_config.event): for a log, a trace or a test. */
#ifndef NETBLT_EVENTS_H
#define NETBLT_EVENTS_H

#include <netblt/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct netblt_endpoint netblt_endpoint;
typedef struct netblt_connection netblt_connection;

/* The endpoint keeps nothing for an observer and does no work without one. The callback runs in the middle of other
 * work: it may read the event and call netblt_get_info() and the get_context functions, and no other function of the
 * endpoint. */
enum netblt_event_kind {
    NETBLT_EVENT_PACKET_SENT,     /* packet; as often as stats.packets_sent counts, while the connection exists */
    NETBLT_EVENT_PACKET_RECEIVED, /* packet; its checksum is correct and it belongs to the connection */
    NETBLT_EVENT_PACKET_DROPPED,  /* packet; connection may be NULL; `why` is the reason. A DATA packet with a correct
                                   * header and unusable data is reported as received first. */
    NETBLT_EVENT_STATE,           /* state: the connection's new one; the first is OPENING or, if passive, OPEN */
    NETBLT_EVENT_TIMER_SET,       /* timer; again if it is moved while it runs */
    NETBLT_EVENT_TIMER_CLEARED,   /* timer, without `until`: it ran and was stopped */
    NETBLT_EVENT_TIMER_EXPIRED,   /* timer, without `until`: it ran and expired; it may be set again at once */
    NETBLT_EVENT_RATE,            /* rate; first when the connection opens: the negotiated pair */
    NETBLT_EVENT_BUFFER_DONE,     /* buffer: its OK was queued (receiver) or has arrived (sender) */
};

/* Every packet received and sent moves DEATH and KEEPALIVE: these moves are not reported. */
enum netblt_timer {
    NETBLT_TIMER_OPEN,
    NETBLT_TIMER_CONTROL,
    NETBLT_TIMER_DATA, /* `buffer` is its index */
    NETBLT_TIMER_DEATH,
    NETBLT_TIMER_KEEPALIVE,
    NETBLT_TIMER_DALLY,
    NETBLT_TIMER_QUIT,
};

/* The parts of netblt_event. */
struct netblt_event_packet {
    const uint8_t *bytes; /* valid during the callback */
    size_t length;
};

struct netblt_event_timer {
    enum netblt_timer which;
    uint64_t buffer; /* NETBLT_TIMER_DATA: index of the buffer */
    netblt_time until;
};

struct netblt_event_rate {
    uint16_t burst_size; /* the receiver's new offer, or the pair that the sender adopted */
    uint16_t burst_interval_ms;
    netblt_time round_trip_us;
    uint64_t measured_bps; /* arrival rate of the decision; 0 = none */
};

struct netblt_event_buffer {
    uint64_t index;
    uint32_t length;
};

typedef struct netblt_event {
    enum netblt_event_kind kind;
    netblt_time at;
    netblt_connection *connection; /* NULL if a packet belongs to none */
    const char *why;               /* a constant sentence, or NULL */
    union {
        struct netblt_event_packet packet;
        int state; /* enum netblt_state */
        struct netblt_event_timer timer;
        struct netblt_event_rate rate;
        struct netblt_event_buffer buffer;
    };
} netblt_event;

typedef void netblt_event_fn(void *context, const netblt_event *event);

#ifdef __cplusplus
}
#endif

#endif
