/* SPDX-License-Identifier: BSD-2-Clause */
/* Model of one connection of the endpoint under test: what its client and its packets have shown. The oracles compare
 * each callback and each packet that leaves with what arrived before. */
#ifndef NETBLT_FUZZ_MODEL_H
#define NETBLT_FUZZ_MODEL_H

#include "fuzz.h"
#include "guarded.h"
#include "memory.h"
#include "pace.h"
#include "unvalidated.h"
#include "view.h"

#include <netblt/netblt.h>

struct station;

/* What a fuzz target promises of the peer and the network, and so what may be demanded of the endpoint. */
struct expectations {
    bool peer_is_ours;    /* no packet is forged: only lost, repeated, delayed or visibly damaged */
    bool drained_at_once; /* packets leave as soon as they may */
};

/* A valid DATA or LDATA that arrived. */
struct arrival {
    struct arrival *next;
    bool ldata, last_buffer;
    unsigned length;
    uint8_t data[];
};

enum { MARK_SENT = 1, MARK_ASKED = 2, MARK_SKIPPED = 4, MARK_NAMED = 8 };

struct model_buffer {
    uint8_t *memory; /* ours; the core has it while `held` */
    bool held;
    /* sending */
    uint32_t length;
    bool last;
    bool numbered; /* the first packet has left, under `number` */
    uint32_t number;
    uint32_t packets, next_new;
    uint8_t *marks;      /* MARK_..., of each packet */
    uint32_t sent;       /* packets that have left */
    uint32_t withheld;   /* packets that may be withheld from an unvalidated peer */
    uint32_t skipped;    /* packets that were */
    unsigned late_skips; /* times that packets were, after the peer was validated */
    uint32_t named;      /* packets but the first that RESENDs have named */
    double chance;       /* of naming all withheld ones so far by chance; 0 = not all were named */
    bool ok_arrived;     /* after all packets had left */
    bool released;
    /* receiving */
    struct arrival **arrivals; /* lists, by packet number */
    bool last_flag_arrived;
    bool complete; /* has been seen to be */
    bool delivered;
};

struct emitted_message {
    unsigned type, count;
    uint32_t buffer;
};

struct model {
    struct station *station;
    uint8_t host; /* last byte of the peer's address */
    uint16_t local_port, foreign_port;
    uint8_t salt;                /* of the bytes that our client sends */
    unsigned longest_open_bytes; /* OPEN that this host has sent */

    netblt_connection *connection;
    bool begun, passive, is_open;
    bool reopened; /* by a copy of the OPEN of the connection before, which ended without success */
    int finished;
    enum netblt_result result;
    netblt_info info; /* as of `opened` */
    bool quit_called, abort_called;
    netblt_time quit_called_at, valid_at;
    struct guarded_ends ends;   /* what has arrived of ABORT, QUIT and REFUSED */
    struct guarded_token token; /* of the RESPONSE */
    bool earlier_words_wait;    /* last packets of the connection before may still leave */
    bool unreachable;           /* the network has reported it */

    struct model_buffer *buffers; /* that the client was asked for */
    size_t buffer_count, buffer_room;
    uint32_t packets_per_buffer;
    uint64_t payload_bytes;
    bool any_order, confirm_end;

    /* sending */
    size_t numbered_count;
    size_t unfinished_from; /* all buffers below were released */
    uint32_t *gos;
    size_t go_count, go_room;
    uint64_t seq_arrived[1024]; /* a bit for each control sequence number */
    uint16_t seq_high;          /* all numbers up to it arrived */
    uint16_t seq_claimed;       /* highest that was acknowledged */
    struct pace pace;
    size_t unjustified_releases;
    uint64_t started_bytes; /* of all buffers so far, in packets */
    bool named_early;       /* a RESEND has named packets of a buffer that has not begun */
    bool quit_has_left;

    /* receiving */
    uint64_t next_delivery;           /* buffers that were delivered */
    size_t all_complete_below;        /* no buffer below is outstanding */
    struct emitted_message *messages; /* number 1 and up, in order */
    size_t message_count, message_room;
    size_t messages_acked;
    bool last_was_delivered;
    uint64_t last_index;
    bool base_known; /* number of the first buffer: with a secret the first GO tells it */
    uint32_t base;
    size_t asked_for; /* buffers that DATA may name */
    size_t oks;       /* buffers that got their OK */
    bool completed, confirmed;

    bool evidence;         /* the peer has named what it can only know from packets of ours */
    bool validated;        /* the endpoint has said so */
    uint64_t credit_bytes; /* what the peer has paid for and was not sent */
};

/* ---- life of the model ---- */

/* A new connection of the same host: forgets the one before. */
void model_begin(struct model *model, bool passive);
void model_free(struct model *model);
/* After each call of the endpoint: what must hold between calls. */
void model_settle(const struct model *model);
/* The byte at an offset of a buffer that the sender with this salt sends. */
uint8_t model_byte(uint8_t salt, uint64_t index, uint32_t offset);
/* Appends a buffer. Its index is buffer_count - 1. */
struct model_buffer *model_add_buffer(struct model *model);

/* ---- oracles; each looks at a packet before the core sees it, or when it has left ---- */

void sender_opened(struct model *model);
void sender_arrives(struct model *model, const struct view *view);
void sender_emits(struct model *model, const struct view *view);
/* RESENDs have named what was withheld. */
bool sender_has_evidence(const struct model *model);
/* DATA-12, and what an unvalidated peer gets. */
bool sender_may_take_buffer(const struct model *model);
void receiver_arrives(struct model *model, const struct view *view);
void receiver_emits(struct model *model, const struct view *view);
/* The bytes of a delivered buffer all arrived, each in its place. */
bool receiver_may_deliver(struct model *model, struct model_buffer *buffer, const uint8_t *data, uint32_t length,
                          bool last);
/* Buffers that the client gave memory for and that are not complete. */
size_t receiver_outstanding(struct model *model);
void receiver_forget_arrivals(const struct model *model, struct model_buffer *buffer);

/* Calls of the client; their context is the model. */
extern const netblt_client model_client;
/* The client has stored all data, or says so too early. */
void model_confirm(struct model *model);

#endif
