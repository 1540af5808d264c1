/* SPDX-License-Identifier: BSD-2-Clause */
/* Model of one connection of the endpoint under test: what its client and its packets have shown. The oracles compare
 * each callback and each packet that leaves with what arrived before. */
#ifndef NETBLT_FUZZ_MODEL_H
#define NETBLT_FUZZ_MODEL_H

#include "state.h"

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
/* The client has stored all data, or reports this too early. */
void model_confirm(struct model *model);

#endif
