/* SPDX-License-Identifier: BSD-2-Clause */
/* A scripted peer of one endpoint: the test plays the remote end by hand, in virtual time, with an encoder, a decoder
 * and a checksum of its own that share nothing with the core's. "Ours" is the endpoint under test. */
#ifndef NETBLT_TESTS_PEER_H
#define NETBLT_TESTS_PEER_H

#include <netblt/netblt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OPEN = 0,
    RESPONSE,
    KEEPALIVE,
    QUIT,
    QUITACK,
    ABORT,
    DATA,
    LDATA,
    NULL_ACK,
    CONTROL,
    REFUSED,
    DONE,
    GO = 0,
    OK = 1,
    RESEND = 2,
};

#define MS UINT64_C(1000)
#define SECOND UINT64_C(1000000)

/* A packet that our endpoint sent. */
struct seen {
    netblt_time at;
    int type;
    unsigned length;   /* the Length field */
    unsigned size;     /* bytes that left, padding included */
    unsigned high_seq; /* DATA, LDATA, NULL-ACK */
    uint32_t buffer;   /* DATA, LDATA */
    unsigned packet;
    bool last_buffer;
    uint8_t source; /* last byte of the address it went to */
    uint8_t *bytes;
};

struct message {
    int type;
    unsigned seq;
    uint32_t buffer;
    unsigned burst_size, burst_interval_ms, control_timer_ms; /* OK */
    unsigned count;                                           /* RESEND */
    uint16_t packets[1024];
};

struct peer {
    /* set before peer_start_*() */
    enum netblt_role role; /* ours */
    bool active;           /* we open */
    netblt_params params;  /* our proposal or limits */
    netblt_options options;
    netblt_profile profile;
    uint32_t first_buffer;
    uint64_t size; /* to send, when we send */
    bool end_is_late;
    uint64_t stall_from;                 /* our client withholds buffers with this index and above */
    unsigned client_buffers;             /* memory of our receiving client; 0 = as much as needed */
    bool refuse;                         /* our listener refuses */
    bool ignore;                         /* it does not even refuse */
    const char *refusal;                 /* why; NULL = "no, thank you" */
    uint32_t unvalidated_bytes_per_s;    /* netblt_config; 0, not the default there, = every peer counts as validated */
    uint32_t unvalidated_connections;    /* netblt_config; 0 = no limit */
    uint8_t secret[NETBLT_SECRET_BYTES]; /* of our endpoint; all zero = none */
    netblt_event_fn *event;
    void *event_context;
    netblt_log_fn *log;                /* with the peer as context */
    const netblt_allocator *allocator; /* of our endpoint; NULL = the default */
    const netblt_client *client;       /* ours, with the peer as context; NULL = peer_client */
    bool held_up;                      /* our process: packets go in, but it comes to nothing else */
    bool quits_when_finished;          /* our client does, from inside the callback */

    netblt_endpoint *endpoint;
    netblt_connection *connection;
    netblt_time now;
    uint32_t unique_id;
    uint8_t from; /* last byte of the peer's address, for the next packets */
    uint16_t peer_port;
    uint16_t our_port;
    uint8_t version;

    struct seen *seen;
    size_t seen_count;
    size_t mark; /* tests look only at what was sent from here on */

    uint8_t *data;
    uint8_t *delivered;
    uint64_t delivered_bytes;
    unsigned deliveries;
    uint64_t last_delivered_index;
    bool last_was_delivered;
    unsigned requests; /* how often our listener was asked */
    unsigned held;
    int opened, finished, closed;
    enum netblt_result result;
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    netblt_info info; /* as of `closed`, or peer_info() */
};

/* Keeps account in the peer; for tests that want one callback to be another. */
extern const netblt_client peer_client;

/* Defaults: 4 packets of 100 bytes in a buffer, 2 buffers, bursts of 1000 with interval 0, C off, 2 buffers to send. */
void peer_init(struct peer *peer, enum netblt_role role, bool active);
/* Only the endpoint: a passive one listens, an active one has sent OPEN. */
void peer_start(struct peer *peer);
/* Opens it: what our end and the peer propose and accept is peer->params. */
void peer_open(struct peer *peer);
void peer_free(struct peer *peer);

/* Everything that was sent before is looked at. */
void peer_mark(struct peer *peer);
/* Lets time pass; our endpoint does whatever it is due to do, at the very moment. */
void peer_wait(struct peer *peer, netblt_time us);
/* What our endpoint sent since the mark. */
size_t peer_count(const struct peer *peer, int type); /* -1 = any */
/* The nth (0 ...) packet of a type since the mark; fails the test when there is none. */
const struct seen *peer_nth(const struct peer *peer, int type, size_t n);
const struct seen *peer_last(const struct peer *peer, int type);
/* DATA or LDATA, either, in the order sent. */
size_t peer_count_data(const struct peer *peer);
const struct seen *peer_nth_data(const struct peer *peer, size_t n);
/* How often a data packet was sent since the mark. */
size_t peer_times_sent(const struct peer *peer, uint32_t buffer, unsigned packet);
/* Messages of a CONTROL packet. */
size_t peer_messages(const struct seen *control, struct message *messages, size_t room);
/* The messages of the newest CONTROL since the mark. */
size_t peer_last_messages(const struct peer *peer, struct message *messages, size_t room);
const netblt_info *peer_info(struct peer *peer);

/* ---- forging. Each packet arrives at once, and what our endpoint answers at once is collected. ---- */

struct forged {
    uint8_t bytes[70000];
    size_t length;  /* the Length field, and what is summed */
    size_t size;    /* bytes that are sent */
    size_t covered; /* bytes under the checksum; 0 = Length */
};

void forge(struct peer *peer, struct forged *packet, int type); /* a bare header */
void forge_open(struct peer *peer, struct forged *packet, int type, const netblt_params *params, bool write);
void forge_reason(struct peer *peer, struct forged *packet, int type, const char *reason);
void forge_data(struct peer *peer, struct forged *packet, int type, uint32_t buffer, unsigned number, unsigned high_seq,
                bool last_buffer, const uint8_t *data, size_t length, bool data_checksum);
void forge_null_ack(struct peer *peer, struct forged *packet, unsigned high_seq, unsigned burst_size,
                    unsigned burst_interval_ms);
void forge_go(struct forged *control, unsigned seq, uint32_t buffer);
void forge_ok(struct forged *control, unsigned seq, uint32_t buffer, unsigned burst_size, unsigned burst_interval_ms,
              unsigned control_timer_ms);
void forge_resend(struct forged *control, unsigned seq, uint32_t buffer, const uint16_t *packets, unsigned count);
void forged_put16(struct forged *packet, size_t at, unsigned value);
/* Sums and sends. */
int peer_send(struct peer *peer, struct forged *packet);
/* Sends as it is. */
int peer_send_raw(struct peer *peer, const void *bytes, size_t size);

/* Short forms. */
void peer_go(struct peer *peer, unsigned seq, uint32_t buffer);
void peer_ok(struct peer *peer, unsigned seq, uint32_t buffer);
void peer_resend(struct peer *peer, unsigned seq, uint32_t buffer, const uint16_t *packets, unsigned count);
void peer_bare(struct peer *peer, int type);
void peer_reason(struct peer *peer, int type, const char *reason);
void peer_null_ack(struct peer *peer, unsigned high_seq);
/* A packet of the standard buffers (4 packets of 100 bytes): number 3 is the LDATA. Its bytes are peer_byte(). */
void peer_data(struct peer *peer, uint32_t buffer, unsigned number, unsigned high_seq, bool last_buffer);
/* The byte at an offset of the transfer. */
uint8_t peer_byte(uint64_t offset);
/* Whether what was delivered is the first `bytes` bytes of the transfer. */
bool peer_delivered_exactly(const struct peer *peer, uint64_t bytes);
/* The checksum of RFC 998 5.1, by this peer's own arithmetic. */
uint16_t peer_sum(const uint8_t *bytes, size_t length);
unsigned peer_get16(const uint8_t *at);
uint32_t peer_get32(const uint8_t *at);

#endif
