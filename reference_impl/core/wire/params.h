/* SPDX-License-Identifier: BSD-2-Clause */
/* Negotiation of parameters: checks, restriction. */
#ifndef NETBLT_CORE_PARAMS_H
#define NETBLT_CORE_PARAMS_H

#include "wire/wire.h"

#include <netblt/params.h>

/* Negotiation (RFC 998 4; NEG-01..11): the rules, without packets. */

enum {
    /* Every number fits a packet number and the RESEND count field (AMB-17). */
    NB_PACKETS_PER_BUFFER_MAX = 65535,
    /* The largest multiple of 4 that fits Length together with the DATA header, alignment included. */
    NB_PACKET_SIZE_MAX = (NETBLT_PACKET_MAX_BYTES - NETBLT_DATA_HEADER_BYTES) / 4 * 4,
};

uint32_t nb_packets_per_buffer(uint32_t buffer_size, uint16_t packet_size);

/* Passive end: the proposal, made more restrictive where this end's limits demand it (NEG-01..05, AMB-23). Death timer,
 * client string and transfer size come from `limits`. */
void nb_params_restrict(const netblt_params *proposed, const netblt_params *limits, netblt_params *agreed);
/* Why an OPEN cannot be accepted by anyone (NEG-10, AMB-25), or NULL. */
const char *nb_proposal_unusable(const struct nb_open_fields *fields);
/* Active end: why a RESPONSE cannot be obeyed (NEG-10, AMB-25), or NULL. A cleared C flag is obeyed. */
const char *nb_response_unusable(const netblt_params *proposed, const struct nb_open_fields *response);

/* Between packets and parameters. Mode and unique ID are not parameters and are left zero. The text of `fields` leads
 * into `params`. */
void nb_params_from_wire(const struct nb_open_fields *fields, netblt_params *params);
void nb_params_to_wire(const netblt_params *params, struct nb_open_fields *fields);
/* Clipped to NETBLT_STRING_MAX_BYTES and terminated; `to` holds one byte more. */
void nb_text_copy(char *to, struct nb_text text);

#endif
