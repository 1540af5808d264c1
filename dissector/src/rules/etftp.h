/* SPDX-License-Identifier: GPL-2.0-or-later */
/* R1986-01..28: what RFC 1986 adds to RFC 998 or changes. */
#ifndef NETBLT_RULE_ETFTP_H
#define NETBLT_RULE_ETFTP_H

#include "connection/event.h"

void nb_etftp_register(void);

/* Of a packet of ETFTP that counts, after the rules that RFC 1986 leaves as they are. */
void nb_etftp_packet(const struct nb_event *event);

/* Its parts: setup, offers in OK and NULL-ACK, numbers. */
void nb_etftp_setup_register(void);
void nb_etftp_setup(const struct nb_event *event);
void nb_etftp_offers_register(void);
void nb_etftp_offers(const struct nb_event *event);
void nb_etftp_numbers_register(void);
void nb_etftp_numbers(const struct nb_event *event);

enum { NB_ETFTP_SMALLEST_DATA = 16, NB_ETFTP_LARGEST_DATA = 1448 };

#endif
