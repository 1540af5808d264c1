/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detects the dialect of a packet: RFC 998, RFC 1986 (ETFTP) or version 4. */
#include "decode/dialect.h"

#include "decode/netblt.h"

static const struct nb_layout layouts[NB_DIALECTS] = {
    [NB_RFC998] = {.protocol = "NETBLT",
                   .transfer_size = 20,
                   .data_packet_size = 24,
                   .client_string = NB_OPEN_BYTES,
                   .open_reserved = NB_OPEN_RESERVED,
                   .high_seq = 16,
                   .data = NB_DATA_HEADER_BYTES,
                   .null_ack_high_seq = 12,
                   .null_ack = NB_NULL_ACK_BYTES,
                   .resend_list = NB_RESEND_HEADER_BYTES},
    [NB_ETFTP] = {.protocol = "ETFTP",
                  .transfer_size = 20,
                  .data_packet_size = 24,
                  .radio_delay = 36,
                  .client_string = 40,
                  .open_reserved = NB_ETFTP_RESERVED,
                  .high_seq = 16,
                  .data = NB_DATA_HEADER_BYTES,
                  .null_ack_high_seq = 12,
                  .null_ack_packet_size = 18,
                  .null_ack = NB_NULL_ACK_BYTES,
                  .ok_packet_size = 14,
                  .resend_list = NB_RESEND_HEADER_BYTES},
    [NB_VERSION4] = {.protocol = "NETBLTv4",
                     .data_packet_size = 20,
                     .client_string = 32,
                     .open_reserved = NB_OPEN_RESERVED,
                     .last_touched = 16,
                     .high_seq = 20,
                     .data_burst = 28,
                     .data = 32,
                     .null_ack_touched = 12,
                     .null_ack_high_seq = 16,
                     .null_ack_flags = 22,
                     .null_ack = 24,
                     .resend_burst = 10,
                     .resend_list = 16},
};

/* There is no KEEPALIVE, so every later code moves down by one; REFUSED and DONE keep their order. */
static const uint8_t version4_types[] = {NB_OPEN,  NB_RESPONSE, NB_QUIT,    NB_QUITACK, NB_ABORT, NB_DATA,
                                         NB_LDATA, NB_NULL_ACK, NB_CONTROL, NB_REFUSED, NB_DONE,  NB_TEXT_MESSAGE};

const value_string nb_dialect_names[] = {
    {NB_RFC998, "RFC 998"}, {NB_ETFTP, "RFC 1986 (ETFTP)"}, {NB_VERSION4, "version 4"}, {0, NULL}};

const struct nb_layout *nb_layout_of(enum nb_dialect dialect)
{
    return &layouts[dialect];
}

bool nb_active_sends(enum nb_dialect dialect, uint16_t flags)
{
    return ((flags & NB_OPEN_WRITE) != 0) == (dialect != NB_ETFTP);
}

const char *nb_mode_name(enum nb_dialect dialect, uint16_t flags)
{
    const bool active_sends = nb_active_sends(dialect, flags);

    if (dialect == NB_ETFTP) {
        return active_sends ? "PUT" : "GET";
    }
    return active_sends ? "WRITE" : "READ";
}

int nb_type_of_code(enum nb_dialect dialect, uint8_t version, uint8_t code)
{
    if (dialect != NB_VERSION4) {
        return code < NB_TYPES ? code : -1;
    }
    if (code >= array_length(version4_types) ||
        (version4_types[code] == NB_TEXT_MESSAGE && version != NB_VERSION_DRAFT)) {
        return -1;
    }
    return version4_types[code];
}

int nb_minimum_length(const struct nb_layout *layout, uint8_t type)
{
    switch (type) {
    case NB_OPEN:
    case NB_RESPONSE:
        return layout->client_string;
    case NB_DATA:
    case NB_LDATA:
        return layout->data;
    case NB_NULL_ACK:
        return layout->null_ack;
    default:
        return NB_HEADER_BYTES;
    }
}

/* Printable text, then nothing but NULs. *text states whether there is any text. */
static bool is_text_field(tvbuff_t *tvb, int offset, int end, bool *text)
{
    int i = offset;

    while (i < end && tvb_get_uint8(tvb, i) != 0) {
        if (tvb_get_uint8(tvb, i) < 0x20) {
            return false;
        }
        i++;
    }
    *text = i > offset;
    while (i < end && tvb_get_uint8(tvb, i) == 0) {
        i++;
    }
    return i == end;
}

bool nb_strings_as_rfc998(tvbuff_t *tvb, int end)
{
    bool text;

    return is_text_field(tvb, layouts[NB_RFC998].client_string, end, &text);
}

bool nb_strings_as_version4(tvbuff_t *tvb, int end)
{
    bool text;

    return is_text_field(tvb, layouts[NB_VERSION4].client_string, end, &text);
}

bool nb_strings_as_etftp(tvbuff_t *tvb, int end)
{
    /* No end waits longer for a radio, and a text at RFC 998's offset reads as far more. */
    enum { LONGEST_RADIO_DELAY_S = 3600 };
    const struct nb_layout *layout = &layouts[NB_ETFTP];
    bool text;

    return end >= layout->client_string && tvb_get_ntohs(tvb, layout->radio_delay) <= LONGEST_RADIO_DELAY_S &&
           tvb_get_ntohs(tvb, layout->radio_delay + 2) == 0 && is_text_field(tvb, layout->client_string, end, &text) &&
           (text || end <= layout->client_string + 4);
}
