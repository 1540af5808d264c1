/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters that OPEN and RESPONSE negotiate, and profiles of timer constants. */
#ifndef NETBLT_PARAMS_H
#define NETBLT_PARAMS_H

#include <netblt/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NETBLT_HEADER_BYTES 12      /* common header (RFC 998 8, WIRE-02) */
#define NETBLT_DATA_HEADER_BYTES 24 /* DATA and LDATA header (WIRE-10) */
#define NETBLT_STRING_MAX_BYTES 255 /* bound of this implementation on strings, without the NUL */
#define NETBLT_PACKET_MAX_BYTES 65535
#define NETBLT_SECRET_BYTES 16                        /* see netblt_config */
#define NETBLT_TRANSFER_MAX_BYTES (UINT64_C(1) << 32) /* RFC 998 3; see netblt_options.beyond_4g */

/* What OPEN proposes and RESPONSE decides (RFC 998 4, 5.1; NEG-01..07). As limits of a passive end: the
 * highest-performance values that it accepts. The structure never grows, because RFC 998 fixes the fields of OPEN. */
typedef struct netblt_params {
    uint32_t buffer_size;       /* bytes in every buffer but the last; >= 1 */
    uint64_t transfer_size;     /* bytes, 0 = not known; for the client only (OPEN-11) */
    uint16_t packet_size;       /* data bytes in a DATA packet, header not counted (R1030-09); >= 1 */
    uint16_t burst_size;        /* packets in a burst; >= 1 */
    uint16_t burst_interval_ms; /* start to start, RFC 998's "burst rate"; 0 = not paced (AMB-11) */
    uint16_t death_timer_s;     /* this end's own value, declared and not negotiated; >= 1 (AMB-50) */
    uint16_t max_buffers;       /* outstanding buffers; >= 1 */
    bool data_checksum;         /* C flag: as a limit, true turns it on; it is never turned off (AMB-24) */
    char client_string[NETBLT_STRING_MAX_BYTES + 1];
} netblt_params;

/* Sets values for a local network: 64 KiB buffers, 1456-byte packets, 8 buffers, checksums on. */
NETBLT_API void netblt_params_default(netblt_params *params);
/* Errors: none. */

/* Checks parameters. On an error *what names the first one that cannot be used (a constant string). `what` may be
 * NULL. */
NETBLT_API int netblt_params_check(const netblt_params *params, const char **what);
/* Errors: NETBLT_ERR_INVALID_ARGUMENT. */

/* Constants of the timers. The reason for each value is in core/control/timers.c. The structure never grows, because
 * programs copy the two constants below. */
typedef struct netblt_profile {
    const char *name;
    netblt_time open_retry_us;      /* first wait for RESPONSE; doubled each time (OPEN-03) */
    unsigned open_attempts;         /* OPENs sent before the attempt fails (OPEN-03) */
    netblt_time control_initial_us; /* control timer before the first round trip is known (CTRL, TIMER-03) */
    netblt_time control_min_us;
    unsigned control_variance_factor;    /* timer = smoothed round trip + factor * mean deviation */
    netblt_time data_variance_min_us;    /* least slack of a data timer (RFC 998 5.2.2, TIMER-09) */
    unsigned data_variance_percent;      /* slack as a share of the expected transfer time */
    netblt_time dally_min_us;            /* least dally (AMB-53) */
    netblt_time quit_retry_us;           /* QUIT repetition (QUIT-02, AMB-57) */
    unsigned keepalives_per_death_timer; /* KEEPALIVEs per declared death timer of the peer (TIMER-11) */
    netblt_time catch_up_max_us;         /* lateness up to which the next burst is planned from the planned start */
    bool bursts_survive_idle;            /* the rest of a burst may be sent after the sender had no data */
    bool measured_pace_decides;          /* data timers use the measured pace alone, even if it is below the negotiated
                                          * one, and are not shortened by what else has arrived */
} netblt_profile;

NETBLT_API extern const netblt_profile netblt_profile_default;
/* As the implementations of RFC 1030: each burst is planned from the actual start of the previous one. */
NETBLT_API extern const netblt_profile netblt_profile_mit1987;

#ifdef __cplusplus
}
#endif

#endif
