/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint under test with the models of its connections: every packet and every call goes through here, so that the
 * oracles see it. */
#ifndef NETBLT_FUZZ_STATION_H
#define NETBLT_FUZZ_STATION_H

#include "model.h"

enum { STATION_PORT = 1 };

void station_start(struct station *station, netblt_time now);
void station_free(struct station *station);
/* A host that sends to this endpoint. */
void station_add_host(struct station *station, unsigned host, uint8_t address, uint16_t port, uint8_t salt);
netblt_path station_path(const struct station *station, const struct model *model);
/* A packet arrives from a host. */
void station_input(struct station *station, struct model *model, const uint8_t *packet, size_t size);
/* Takes packets until none is left that may leave now and fits `capacity`. */
void station_drain(struct station *station, size_t capacity);
/* Lets time pass up to `at` and runs the timers. */
void station_advance(struct station *station, netblt_time at);
/* Opens actively to a host that has no connection. */
void station_open(struct station *station, struct model *model, enum netblt_role role, uint32_t unique_id);
void station_quit(struct station *station, struct model *model);
void station_abort(struct station *station, struct model *model);
/* A call that the endpoint must refuse, or that must change nothing; `how` states which. */
void station_misuse(struct station *station, struct model *model, unsigned how);
void station_listen(struct station *station);
void station_resume(struct station *station, struct model *model);

#endif
