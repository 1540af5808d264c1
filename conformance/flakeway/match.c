/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which packets a rule matches: the NETBLT header fields that rules can name. */
#include "match.h"

/* Offsets from the first byte of the NETBLT packet (RFC 998 8). */
#define OFFSET_TYPE 3
#define OFFSET_LENGTH 4
#define OFFSET_BUFFER 12 /* DATA, LDATA */
#define OFFSET_PACKET 18
#define DATA_FIELDS_END 20
#define OFFSET_MESSAGES 12 /* CONTROL */

/* Offsets from the first byte of a control message. */
#define MESSAGE_SEQUENCE 2
#define MESSAGE_BUFFER 4
#define MESSAGE_HEAD_BYTES 8 /* a whole GO; the part that all messages share */
#define OK_BYTES 16
#define RESEND_COUNT 8
#define RESEND_HEAD_BYTES 12

static uint16_t read16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static uint32_t read32(const uint8_t *bytes)
{
    return (uint32_t)read16(bytes) << 16 | read16(bytes + 2);
}

static bool in_range(const fw_range *range, uint32_t value)
{
    return !range->set || (value >= range->first && value <= range->last);
}

/* Bytes from `message` to the next message; 0 = cannot be read, or does not fit. */
static size_t message_size(const uint8_t *message, size_t available)
{
    size_t size = 0;
    if (available < MESSAGE_HEAD_BYTES)
        return 0;
    switch (message[0]) {
    case FW_GO:
        size = MESSAGE_HEAD_BYTES;
        break;
    case FW_OK:
        size = OK_BYTES;
        break;
    case FW_RESEND:
        if (available < RESEND_HEAD_BYTES)
            return 0;
        size = (RESEND_HEAD_BYTES + 2u * read16(message + RESEND_COUNT) + 3u) & ~(size_t)3;
        break;
    default:
        return 0;
    }
    return size <= available ? size : 0;
}

static bool resend_lists(const uint8_t *message, const fw_range *packet)
{
    unsigned count = read16(message + RESEND_COUNT);
    for (unsigned i = 0; i < count; i++)
        if (in_range(packet, read16(message + RESEND_HEAD_BYTES + 2 * i)))
            return true;
    return false;
}

static bool message_met(const fw_condition *condition, const uint8_t *message)
{
    bool whole_packet = condition->any_type || (condition->types & 1u << FW_CONTROL);
    if (!whole_packet && !(condition->messages & 1u << message[0]))
        return false;
    if (!in_range(&condition->buffer, read32(message + MESSAGE_BUFFER)) ||
        !in_range(&condition->sequence, read16(message + MESSAGE_SEQUENCE)))
        return false;
    return !condition->packet.set || (message[0] == FW_RESEND && resend_lists(message, &condition->packet));
}

static bool control_met(const fw_condition *condition, const uint8_t *netblt, size_t length)
{
    size_t stated = read16(netblt + OFFSET_LENGTH);
    size_t end = stated < length ? stated : length; /* padding may follow beyond Length (AMB-02) */
    size_t at = OFFSET_MESSAGES;
    while (at < end) {
        size_t size = message_size(netblt + at, end - at);
        if (size == 0)
            return false;
        if (message_met(condition, netblt + at))
            return true;
        at += size;
    }
    return false;
}

static bool wants_fields(const fw_condition *condition)
{
    return condition->buffer.set || condition->packet.set || condition->sequence.set;
}

static bool type_named(const fw_condition *condition, uint8_t type)
{
    return condition->any_type || (type <= FW_DONE && condition->types & 1u << type) ||
           (type == FW_CONTROL && condition->messages);
}

static bool is_empty(const fw_condition *condition)
{
    return condition->any_type && !condition->type_code.set && !wants_fields(condition);
}

bool fw_condition_met(const fw_condition *condition, const uint8_t *netblt, size_t length)
{
    if (is_empty(condition))
        return true;
    if (length <= OFFSET_TYPE)
        return false;
    uint8_t type = netblt[OFFSET_TYPE];
    if (!type_named(condition, type) || !in_range(&condition->type_code, type))
        return false;
    bool message_needed = type == FW_CONTROL && condition->messages && !(condition->types & 1u << FW_CONTROL);
    if (!wants_fields(condition) && !message_needed)
        return true;
    switch (type) {
    case FW_DATA:
    case FW_LDATA:
        return length >= DATA_FIELDS_END && !condition->sequence.set &&
               in_range(&condition->buffer, read32(netblt + OFFSET_BUFFER)) &&
               in_range(&condition->packet, read16(netblt + OFFSET_PACKET));
    case FW_CONTROL:
        return length >= OFFSET_MESSAGES && control_met(condition, netblt, length);
    default:
        return false;
    }
}
