/* SPDX-License-Identifier: BSD-2-Clause */
/* Reader of NETBLT packets for the oracles: see view.h. */
#include "view.h"

#include <string.h>

static unsigned get16(const uint8_t *at)
{
    return (unsigned)(at[0] << 8 | at[1]);
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)get16(at) << 16 | get16(at + 2);
}

unsigned view_sum(const uint8_t *bytes, size_t length)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < length; i++)
        sum += i % 2 == 0 ? (unsigned)bytes[i] << 8 : bytes[i];
    while (sum >> 16 != 0)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return (unsigned)sum;
}

static unsigned least_length(unsigned type)
{
    switch (type) {
    case OPEN:
    case RESPONSE:
        return 36;
    case DATA:
    case LDATA:
        return 24;
    case NULL_ACK:
        return 20;
    default:
        return 12;
    }
}

static void read_data(struct view *view)
{
    const uint8_t *bytes = view->bytes;
    view->buffer = get32(bytes + 12);
    view->high_seq = get16(bytes + 16);
    view->number = get16(bytes + 18);
    view->data_sum = get16(bytes + 20);
    view->last_buffer = (bytes[23] & 1) != 0;
    view->data = bytes + 24;
    view->data_length = view->length - 24;
    unsigned total = view_sum(view->data, view->data_length) + view->data_sum;
    view->data_good = (total & 0xFFFF) + (total >> 16) == 0xFFFF;
}

static void read_body(struct view *view)
{
    const uint8_t *bytes = view->bytes;
    switch (view->type) {
    case OPEN:
    case RESPONSE:
        view->unique_id = get32(bytes + 12);
        view->text = bytes + 36;
        view->text_length = view->length - 36;
        break;
    case QUIT:
    case ABORT:
    case REFUSED:
        view->text = bytes + 12;
        view->text_length = view->length - 12;
        break;
    case DATA:
    case LDATA:
        read_data(view);
        break;
    case NULL_ACK:
        view->high_seq = get16(bytes + 12);
        view->burst_size = get16(bytes + 14);
        view->burst_interval_ms = get16(bytes + 16);
        view->padding = get16(bytes + 18);
        break;
    default:
        break;
    }
}

void view_read(struct view *view, const uint8_t *bytes, size_t size)
{
    memset(view, 0, sizeof *view);
    view->bytes = bytes;
    view->size = size;
    if (size < 12)
        return;
    view->version = bytes[2];
    view->type = bytes[3];
    view->length = get16(bytes + 4);
    view->from_port = get16(bytes + 6);
    view->to_port = get16(bytes + 8);
    view->readable = view->type <= DONE && view->length <= size && view->length >= least_length(view->type);
    if (!view->readable)
        return;
    bool is_data = view->type == DATA || view->type == LDATA;
    view->header_good = view_sum(bytes, is_data ? 24 : view->length) == 0xFFFF;
    read_body(view);
}

bool view_next_message(const struct view *view, size_t *at, struct view_message *message)
{
    size_t from = *at == 0 ? 12 : *at;
    const uint8_t *bytes = view->bytes + from;
    size_t room = view->length - from;
    if (room < 8)
        return false;
    *message = (struct view_message){.type = bytes[0], .seq = get16(bytes + 2), .buffer = get32(bytes + 4)};
    size_t needed = message->type == GO ? 8 : message->type == OK ? 16 : 12;
    if (message->type > RESEND || room < needed)
        return false;
    if (message->type == OK) {
        message->burst_size = get16(bytes + 8);
        message->burst_interval_ms = get16(bytes + 10);
    } else if (message->type == RESEND) {
        message->count = get16(bytes + 8);
        message->list = bytes + 12;
        needed = (12 + 2 * (size_t)message->count + 3) / 4 * 4;
    }
    if (room < needed)
        return false;
    *at = from + needed;
    return true;
}

unsigned view_resend_number(const struct view_message *message, unsigned i)
{
    return get16(message->list + 2 * (size_t)i);
}
