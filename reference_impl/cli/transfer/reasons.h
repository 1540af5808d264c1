/* SPDX-License-Identifier: BSD-2-Clause */
/* Why an end refuses or ends a transfer that may succeed later. The reason of a packet is all that its peer learns, so
 * that `--retry` recognizes these texts, or how they begin, and a release must not change them. */
#ifndef NETBLT_CLI_REASONS_H
#define NETBLT_CLI_REASONS_H

#define REASON_BUSY "busy with another transfer"        /* netblt send and recv --passive */
#define REASON_STORING "another transfer is storing it" /* netblt listen: a name */
#define REASON_TOO_MANY "too many "                     /* ... places; more follows */
#define REASON_NO_DATA "no new data for "               /* ... a place that was lost; more follows */
#define REASON_NO_MEMORY_NOW "not enough memory: later"
#define REASON_SHUTTING_DOWN "shutting down"
#define REASON_INTERRUPTED "interrupted by the user" /* the peer may be started again */

#endif
