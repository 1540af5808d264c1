/* SPDX-License-Identifier: GPL-2.0-or-later */
/* R1986-02, 09, 19, 24, 25: the values of OPEN and RESPONSE in RFC 1986. Known erratum: packets of up to 2,048 bytes
 * in 2.6, which 2.4 excludes. */
#include "decode/netblt.h"
#include "rules/etftp.h"
#include "rules/judge.h"

static size_t place;

/* The name of the file was judged. */
static bool *named_of(const struct nb_event *event)
{
    return (bool *)nb_stream_reserved(event->stream, place);
}

void nb_etftp_setup_register(void)
{
    place = nb_stream_reserve(sizeof(bool));
}

/* R1986-02: only a RESPONSE can be too short, the OPEN shows which dialect this is. */
static bool has_radio_delay(const struct nb_event *event)
{
    const struct nb_charge charge = {.rule = NB_RULE_R1986_OPEN, .offender = event->end, .alone = true};

    if (event->packet->dialect == NB_ETFTP) {
        nb_keep(event, NB_RULE_R1986_OPEN);
        return true;
    }
    nb_blame(event, &charge, "%s of %u bytes has no radio delay", nb_type_name(event->packet->type),
             event->packet->length);
    return false;
}

/* R1986-09 */
static void judge_range(const struct nb_event *event)
{
    const uint16_t size = event->packet->data_packet_size;
    const struct nb_charge charge = {.rule = NB_RULE_R1986_RANGE,
                                     .offender = event->end,
                                     .excuse =
                                         size > NB_ETFTP_LARGEST_DATA ? "RFC 1986 itself uses up to 2048 (2.6)" : NULL,
                                     .alone = true};

    if (size < NB_ETFTP_SMALLEST_DATA || size > NB_ETFTP_LARGEST_DATA) {
        nb_blame(event, &charge, "data packets of %u bytes, ETFTP has %d to %d", size, NB_ETFTP_SMALLEST_DATA,
                 NB_ETFTP_LARGEST_DATA);
    } else {
        nb_keep(event, NB_RULE_R1986_RANGE);
    }
}

/* R1986-24, R1986-25 */
static void judge_buffer(const struct nb_event *event)
{
    enum { LARGEST_BUFFER = 524288 };
    const struct nb_packet *packet = event->packet;
    const struct nb_charge blocks = {.rule = NB_RULE_R1986_BLOCKS, .offender = event->end, .alone = true};
    const struct nb_charge large = {.rule = NB_RULE_R1986_BUFFER,
                                    .offender = event->end,
                                    .alone = true,
                                    .excuse = "RFC 1986 describes the limit of its own program (2.7)"};

    if (packet->data_packet_size != 0 && packet->buffer_size % packet->data_packet_size != 0) {
        nb_blame(event, &blocks, "buffers of %u bytes are no whole number of packets of %u bytes", packet->buffer_size,
                 packet->data_packet_size);
    } else {
        nb_keep(event, NB_RULE_R1986_BLOCKS);
    }
    if (packet->buffer_size > LARGEST_BUFFER) {
        nb_blame(event, &large, "buffers of %u bytes, ETFTP has up to %d", packet->buffer_size, LARGEST_BUFFER);
    } else {
        nb_keep(event, NB_RULE_R1986_BUFFER);
    }
}

/* It begins at the root, or with the letter of a drive. */
static bool is_full_path(const struct nb_packet *packet, int at, int end)
{
    const uint8_t first = at < end ? tvb_get_uint8(packet->tvb, at) : 0;
    const uint8_t second = at + 1 < end ? tvb_get_uint8(packet->tvb, at + 1) : 0;

    return first == '/' || first == '\\' || (g_ascii_isalpha(first) && second == ':');
}

/* R1986-19: "relative paths are not supported" (2.2). */
static void judge_name(const struct nb_event *event)
{
    const struct nb_packet *packet = event->packet;
    const int at = packet->layout->client_string;
    const int end = MIN(packet->end, packet->captured);
    const struct nb_charge charge = {
        .rule = NB_RULE_R1986_NAME, .offender = event->end, .excuse = "a system may name its files in another way"};

    if (*named_of(event)) {
        return;
    }
    *named_of(event) = true;
    if (is_full_path(packet, at, end)) {
        nb_keep(event, NB_RULE_R1986_NAME);
    } else if (at >= end || tvb_get_uint8(packet->tvb, at) == 0) {
        nb_blame(event, &charge, "the OPEN names no file");
    } else {
        nb_blame(event, &charge, "the OPEN names a file without its full path");
    }
}

void nb_etftp_setup(const struct nb_event *event)
{
    if (!has_radio_delay(event)) {
        return;
    }
    judge_range(event);
    judge_buffer(event);
    if (event->packet->type == NB_OPEN) {
        judge_name(event);
    }
}
