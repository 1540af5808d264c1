/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows over one bad path in virtual time. */
#ifndef NETBLT_BENCH_PATH_SIM_H
#define NETBLT_BENCH_PATH_SIM_H

#include <netblt/netblt.h>
#include <stdbool.h>
#include <stdint.h>

/* Flows over one bad path, in virtual time: two hosts, the flakeway between them, any number of connections from the
 * first host to the second, and beside them traffic at a constant rate. */

#define PATH_IPV4_HEADER_BYTES 20 /* counts on the link */
#define PATH_PACKET_BYTES 1456    /* of data in a full packet; with all headers: */
#define PATH_WIRE_BYTES (PATH_PACKET_BYTES + NETBLT_DATA_HEADER_BYTES + PATH_IPV4_HEADER_BYTES)
#define PATH_FLOWS_MAX 8

/* The link from sender to receiver; back it is the same. */
struct path {
    double mbit; /* 0 = unlimited */
    double rtt_ms;
    double loss_percent;     /* both ways */
    double loss_run_packets; /* 0 = lost by chance; else in bad times of so many packets on average (Gilbert and
                              * Elliott), in which every second packet is lost */
    double reorder_percent;
    double reorder_ms;
    double queue_ms;        /* drop-tail, in time at the link's rate */
    uint32_t queue_packets; /* instead, when not 0 */
    double change_at_s;     /* 0 = never; then: */
    double change_mbit;
    double change_rtt_ms;
    double outage_at_s; /* nothing arrives from here on, for so long: */
    double outage_s;    /* 0 = never */
};

/* What the hosts are like: the receiving one, but for the times at which they wake up. */
struct hosts {
    uint32_t poll_us;        /* packets are looked at only at multiples of this; 0 = as they arrive */
    double packet_cost_us;   /* of the receiver's processor, for each packet */
    uint32_t socket_packets; /* what may wait for it; 0 = no limit */
    uint32_t late_us;        /* the sender's timers fire up to this late */
    uint32_t wake_us; /* both hosts wake up late, for timers and for packets: every second time by more than this,
                       * one time in a hundred by more than 13 times this (log-normal); 0 = at once */
};

struct flow {
    netblt_params params;
    enum netblt_rate sender_rate;
    enum netblt_rate receiver_rate;
    uint64_t bytes; /* 0 = endless */
    double start_s;
    double open_timeout_s; /* 0 = that of the profile */
    bool receiver_opens;   /* of all flows of a run or of none; both hosts are netblt then, with secrets */
    bool rate_is_known;    /* netblt_options.rate_is_known of the receiver that opens */
};

struct path_run {
    uint64_t seed;
    double seconds;
    struct path path;
    struct hosts hosts;
    const netblt_profile *profile; /* NULL = default */
    unsigned flow_count;
    struct flow flows[PATH_FLOWS_MAX];
    double cross_mbit; /* constant traffic of 1500-byte packets beside the flows; 0 = none */
    bool in_order;     /* the receiving client takes buffers only in order */
    bool trace;        /* print every rate decision */
};

/* Of one flow. "Late": the second half of the run. */
struct flow_result {
    double received_seconds;   /* until the receiver had everything; 0 = it has not */
    double seconds;            /* until the receiver's end was over; 0 = it is not */
    double sender_seconds;     /* until the sender knew that all arrived */
    double first_sent_seconds; /* until every packet had been sent once; of a flow that is not endless */
    uint64_t first_sent_packets;
    uint64_t late_bytes;       /* of buffers completed */
    uint64_t late_packets;     /* data packets sent */
    uint64_t late_sent_bytes;  /* of data packets, NETBLT and IP headers included */
    uint64_t late_duplicates;  /* data packets received that were there already */
    uint64_t late_received;    /* data packets */
    uint64_t first_bytes;      /* completed in the first half */
    uint64_t peak_outstanding; /* most client buffers held by the receiver */
    netblt_info sender;
    netblt_info receiver;
};

struct path_result {
    struct flow_result flows[PATH_FLOWS_MAX];
    double seconds;
    uint64_t offered; /* packets from sender to receiver, cross traffic included; second half */
    uint64_t queue_drops;
    uint64_t socket_drops;
    uint64_t whole_offered; /* the same over the whole run */
    uint64_t whole_drops;   /* queue and socket */
    uint64_t cross_offered;
    uint64_t cross_delivered;
};

void path_run(const struct path_run *run, struct path_result *result);

#endif
