/* SPDX-License-Identifier: BSD-2-Clause */
/* Model of one connection: its life, and the buffers that its client had to supply. */
#include "model.h"

#include <string.h>

uint8_t model_byte(uint8_t salt, uint64_t index, uint32_t offset)
{
    return (uint8_t)(salt + index * 17 + offset * 31 + (offset >> 8) * 7 + (index >> 8) * 5);
}

struct model_buffer *model_add_buffer(struct model *model)
{
    if (model->buffer_count == model->buffer_room) {
        model->buffer_room = model->buffer_room == 0 ? 16 : 2 * model->buffer_room;
        model->buffers = fuzz_realloc(model->buffers, model->buffer_room * sizeof *model->buffers);
    }
    struct model_buffer *buffer = &model->buffers[model->buffer_count++];
    memset(buffer, 0, sizeof *buffer);
    return buffer;
}

static void free_contents(struct model *model)
{
    for (size_t i = 0; i < model->buffer_count; i++) {
        receiver_forget_arrivals(model, &model->buffers[i]);
        free(model->buffers[i].marks);
        FUZZ_CHECK(!model->buffers[i].held);
    }
    free(model->buffers);
    free(model->gos);
    free(model->messages);
}

void model_begin(struct model *model, bool passive)
{
    struct station *station = model->station;
    uint8_t host = model->host, salt = model->salt;
    unsigned longest_open_bytes = model->longest_open_bytes;
    uint16_t local_port = model->local_port, foreign_port = model->foreign_port;
    free_contents(model);
    *model = (struct model){
        .station = station,
        .host = host,
        .salt = salt,
        .longest_open_bytes = longest_open_bytes,
        .local_port = local_port,
        .foreign_port = foreign_port,
        .begun = true,
        .earlier_words_wait = true,
        .passive = passive,
        .validated = !passive || station->config.unvalidated_bytes_per_s == 0,
        .base_known = !guarded_has_secret(&station->config),
        .base = station->config.first_buffer,
        .any_order = station->options.any_order,
        .confirm_end = station->options.confirm_end,
    };
}

void model_free(struct model *model)
{
    free_contents(model);
    memset(model, 0, sizeof *model);
}

void model_settle(const struct model *model)
{
    netblt_info info;
    if (model->connection != NULL && model->is_open) {
        netblt_get_info(model->connection, &info);
        FUZZ_CHECK(info.unvalidated != model->validated && info.guarded == model->info.guarded);
    }
    if (model->unjustified_releases > 0)
        FUZZ_CHECK(model->finished == 1 && model->result != NETBLT_DONE); /* released without an OK: it ended */
    if (model->finished == 1)
        for (size_t i = 0; i < model->buffer_count; i++)
            FUZZ_CHECK(!model->buffers[i].held);
}
