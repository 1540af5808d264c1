/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wire format of RFC 998 section 8: codes, offsets from the first byte of the packet, sizes in bytes. What differs
 * in other dialects is in dialect.h. */
#ifndef NETBLT_H
#define NETBLT_H

#define NB_IP_PROTOCOL 30
#define NB_UDP_PORT 9980 /* this project's choice; none is assigned */
#define NB_ETFTP_PORT 1818

enum nb_type {
    NB_OPEN = 0,
    NB_RESPONSE = 1,
    NB_KEEPALIVE = 2,
    NB_QUIT = 3,
    NB_QUITACK = 4,
    NB_ABORT = 5,
    NB_DATA = 6,
    NB_LDATA = 7,
    NB_NULL_ACK = 8,
    NB_CONTROL = 9,
    NB_REFUSED = 10,
    NB_DONE = 11,
    NB_TYPES,                  /* RFC 998 ends here */
    NB_TEXT_MESSAGE = NB_TYPES /* MESSAGE, version 5 only */
};

enum nb_message_type { NB_GO = 0, NB_OK = 1, NB_RESEND = 2 };

enum {
    NB_HEADER_BYTES = 12,
    NB_OPEN_BYTES = 36,
    NB_DATA_HEADER_BYTES = 24,
    NB_NULL_ACK_BYTES = 20,
    NB_GO_BYTES = 8,
    NB_OK_BYTES = 16,
    NB_RESEND_HEADER_BYTES = 12,
};

#define NB_OPEN_WRITE 0x0001         /* M: the active end sends */
#define NB_OPEN_DATA_CHECKSUM 0x0002 /* C: data areas are checksummed */
#define NB_OPEN_RESERVED 0xFFFC
#define NB_DATA_LAST_BUFFER 0x0001 /* L */
#define NB_DATA_RESERVED 0xFFFE

#define NB_ETFTP_BINARY 0x0004      /* T (RFC 1986) */
#define NB_ETFTP_RENEGOTIATE 0x0008 /* R: the data packet size may change during the transfer */
#define NB_ETFTP_RESERVED 0xFFF0

/* Version bytes of dialects that give the type codes other meanings. RFC 998 assigns no value. */
#define NB_VERSION_LOWEST 1
#define NB_VERSION_TACO2 4
#define NB_VERSION_DRAFT 5

#endif
