/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A digest that distinguishes the data of two packets (RESEND-03). Of whole DATA and LDATA packets only. */
#ifndef NETBLT_CONTENT_H
#define NETBLT_CONTENT_H

#include "decode/parse.h"

/* A data checksum that is good stands for the content, and was computed already; the ends are looked at, too. */
uint32_t nb_summed_hash(const struct nb_packet *packet);

/* Several bytes per nanosecond, and a change anywhere shows. */
uint32_t nb_content_hash(const struct nb_packet *packet);

/* CKSUM-04: the data checksum is right. The data must have been captured. */
bool nb_data_checksum_fits(const struct nb_packet *packet);

#endif
