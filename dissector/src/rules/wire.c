/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats and checksums (RFC 998 5.1, section 8): WIRE, CKSUM-01..04. A packet whose checksum is good is what its
 * emitter made, so that it is judged by itself. A bad checksum is damage, unless damage can hardly look like this:
 * several packets in a row that fit the same mistake, or none that is right. */
#include "rules/wire.h"

#include "decode/checksum.h"
#include "decode/content.h"
#include "rules/judge.h"
#include "rules/robust.h"

/* So many packets fit the same mistake: chance below 2^-48. */
#define ALIKE_TO_PROVE 3
/* So many bad ones and none good: corruption of half of all packets would do this once in 2^16. */
#define BAD_TO_PROVE 16

/* Known ways to compute a checksum wrongly. */
enum mistake { LEFT_OUT, NOT_COMPLEMENTED, SWAPPED, PSEUDO_HEADER, STOPS_EARLY, HEADER_ONLY, CARRY_LOST };

static const char *const mistakes[] = {[LEFT_OUT] = "zero",
                                       [NOT_COMPLEMENTED] = "the sum itself, not its complement",
                                       [SWAPPED] = "right with its bytes swapped",
                                       [PSEUDO_HEADER] = "right with a pseudo-header",
                                       [STOPS_EARLY] = "right without its last bytes",
                                       [HEADER_ONLY] = "right for the common header alone",
                                       [CARRY_LOST] = "one more than it should be"};

/* Of one end. */
struct emitter {
    bool versioned;  /* `version` is valid */
    uint8_t version; /* of its first packet that belongs to the connection */
    bool clashed;    /* acts as sender and as receiver: reported once */
    uint8_t bad_data;
    uint8_t data_left_out;
    unsigned bad_header;                      /* packets with a bad checksum */
    uint8_t bad_of_type[NB_TEXT_MESSAGE + 1]; /* version 4 has one type more */
    unsigned like[array_length(mistakes)];    /* of these, what a known mistake explains */
    uint16_t good_types;                      /* bits: types of which one had a good checksum */
    bool good_data;
    bool zero_fits; /* the checksum 0 was right in one of its packets: a damaged copy of it has it, too */
};

struct wire {
    struct emitter emitter[2];
    struct nb_damaged damaged;
};

static size_t place;

void nb_wire_register(void)
{
    place = nb_stream_reserve(sizeof(struct wire));
}

static struct wire *wire_of(const struct nb_stream *stream)
{
    return (struct wire *)nb_stream_reserved(stream, place);
}

static struct emitter *emitter_of(const struct nb_event *event)
{
    return &wire_of(event->stream)->emitter[event->end];
}

const struct nb_damaged *nb_wire_damaged(const struct nb_stream *stream)
{
    return &wire_of(stream)->damaged;
}

static void accuse(const struct nb_event *event, enum nb_rule rule, const char *text)
{
    const struct nb_charge charge = {.rule = rule, .offender = event->end, .excuse = NULL};
    const struct nb_charge early = {.rule = rule,
                                    .offender = event->end,
                                    .excuse = event->packet->type == NB_RESPONSE
                                                  ? "no RESPONSE that can be read was captured before"
                                                  : "the RESPONSE is still to come"};

    if ((event->packet->type == NB_OPEN || event->stream->open_seen) && !event->stream->response_seen) {
        nb_await(event, &early, event->end, 0, "%s", text);
    } else {
        nb_blame(event, &charge, "%s", text);
    }
}

/* WIRE-07. An absent field is tolerated (AMB-03). The client string is "unstructured" (5.1): NULs may be inside it.
 */
static void judge_string(const struct nb_event *event, int offset, bool unstructured)
{
    tvbuff_t *tvb = event->packet->tvb;
    const int end = event->packet->end;
    const struct nb_charge tail = {
        .rule = NB_RULE_WIRE_STRING, .offender = event->end, .excuse = "the string itself may hold a NUL"};

    if (end <= offset) {
        nb_robust_odd(event, NB_ODD_STRING);
        return;
    }
    if (event->packet->captured < end || event->packet->fragment) {
        return;
    }
    if (tvb_get_uint8(tvb, end - 1) != 0) {
        nb_robust_odd(event, NB_ODD_STRING);
        accuse(event, NB_RULE_WIRE_STRING, "the string does not end in NUL");
        return;
    }
    const int nul = tvb_find_uint8(tvb, offset, end - offset, 0);
    for (int i = nul; i < end && !unstructured; i++) {
        if (tvb_get_uint8(tvb, i) != 0) {
            nb_blame(event, &tail, "bytes that are not NUL follow the end of the string");
            return;
        }
    }
    nb_keep(event, NB_RULE_WIRE_STRING);
}

/* WIRE-08, WIRE-09 */
static void judge_open(const struct nb_event *event)
{
    const struct nb_packet *packet = event->packet;
    const uint16_t reserved = packet->open_flags & packet->layout->open_reserved;
    const struct nb_charge etftp = {
        .rule = NB_RULE_WIRE_OPEN_FLAGS, .offender = event->end, .excuse = "ETFTP has flags there"};

    nb_keep(event, NB_RULE_WIRE_OPEN);
    if (reserved == 0) {
        nb_keep(event, NB_RULE_WIRE_OPEN_FLAGS);
        nb_keep(event, NB_RULE_R1986_FLAGS);
    } else {
        nb_robust_odd(event, NB_ODD_RESERVED);
        accuse(event, NB_RULE_R1986_FLAGS, "reserved flags are set");
        if (event->over_udp && (packet->open_flags & NB_ETFTP_RESERVED) == 0) {
            nb_blame(event, &etftp, "reserved flags 0x%04x are set", reserved);
        } else {
            accuse(event, NB_RULE_WIRE_OPEN_FLAGS, "reserved flags are set");
        }
    }
    judge_string(event, packet->layout->client_string, true);
}

/* WIRE-12 */
static void judge_control(const struct nb_event *event)
{
    struct nb_message message;
    int offset = NB_HEADER_BYTES;
    enum nb_walk walk;

    while ((walk = nb_next_message(event->packet, &offset, &message)) == NB_MESSAGE) {
    }
    if (walk == NB_RESIDUE) {
        accuse(event, NB_RULE_WIRE_CONTROL, "bytes are left after the last message");
    } else if (walk == NB_UNKNOWN_MESSAGE) {
        accuse(event, NB_RULE_WIRE_CONTROL, "a message is neither GO nor OK nor RESEND");
    } else if (walk == NB_OVERRUN) {
        nb_robust_odd(event, NB_ODD_RESEND); /* the only one that can be too long */
        accuse(event, NB_RULE_WIRE_CONTROL, "a message runs over the end of the packet");
    } else if (walk == NB_END) {
        nb_keep(event, NB_RULE_WIRE_CONTROL);
    }
}

/* WIRE-04, WIRE-05: what IP carries beyond Length. Data packets may be padded to a multiple of 4 there (AMB-02). */
static void judge_length(const struct nb_event *event)
{
    const struct nb_packet *packet = event->packet;
    const int beyond = packet->reported - packet->end;
    const bool data = nb_is_data(packet->type);
    const struct nb_charge udp = {
        .rule = NB_RULE_WIRE_LENGTH, .offender = event->end, .excuse = "offload may have put packets together"};

    if (packet->fragment) {
        return;
    }
    if (beyond <= (data ? 3 : 0)) {
        nb_keep(event, NB_RULE_WIRE_LENGTH);
    } else if (event->over_udp) {
        nb_blame(event, &udp, "%d bytes follow the packet", beyond);
    } else {
        accuse(event, NB_RULE_WIRE_LENGTH, "Length leaves out bytes of the packet");
    }
    if (!data && packet->length % 4 != 0) {
        accuse(event, NB_RULE_WIRE_MULTIPLE, "Length is not a multiple of 4");
    } else if (!data) {
        nb_keep(event, NB_RULE_WIRE_MULTIPLE);
    }
}

static void judge_body(const struct nb_event *event)
{
    const struct nb_packet *packet = event->packet;

    switch (packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        judge_open(event);
        break;
    case NB_DATA:
    case NB_LDATA:
        if (packet->data_flags & NB_DATA_RESERVED) {
            nb_robust_odd(event, NB_ODD_RESERVED);
            accuse(event, NB_RULE_WIRE_DATA, "reserved flags are set");
        } else {
            nb_keep(event, NB_RULE_WIRE_DATA);
        }
        break;
    case NB_NULL_ACK:
        if (packet->length != packet->layout->null_ack) {
            accuse(event, NB_RULE_WIRE_NULL_ACK, "NULL-ACK is not 20 bytes long");
            accuse(event, NB_RULE_R1986_FORMATS, "NULL-ACK is not 20 bytes long");
        } else {
            nb_keep(event, NB_RULE_WIRE_NULL_ACK);
        }
        break;
    case NB_CONTROL:
        judge_control(event);
        break;
    case NB_QUIT:
    case NB_ABORT:
    case NB_REFUSED:
        judge_string(event, NB_HEADER_BYTES, false);
        break;
    default:
        if (packet->length != NB_HEADER_BYTES) {
            accuse(event, NB_RULE_WIRE_HEADER_ONLY, "bytes follow the header, which should be the whole packet");
        } else {
            nb_keep(event, NB_RULE_WIRE_HEADER_ONLY);
        }
        break;
    }
}

/* May answer a packet of no connection, so not in the version of this one: in that of the packet, or in the version of
 * its emitter, which echoed that of the OPEN as long as the connection was there (AMB-01, AMB-55). */
static bool may_be_of_no_connection(const struct nb_event *event)
{
    return event->packet->type == NB_ABORT || event->packet->type == NB_REFUSED || event->packet->type == NB_QUITACK;
}

/* WIRE-02: AMB-01, any version byte, but one. */
void nb_wire_version(const struct nb_event *event)
{
    struct emitter *emitter = emitter_of(event);
    const uint8_t version = event->packet->version;

    event->stream->end[event->end].packets++;
    const bool changes = emitter->versioned && version != emitter->version;
    if (may_be_of_no_connection(event)) {
        if (!changes) {
            nb_keep(event, NB_RULE_WIRE_HEADER);
        }
        return;
    }
    if (!emitter->versioned) {
        emitter->versioned = true;
        emitter->version = version;
    }
    if (changes) {
        accuse(event, NB_RULE_WIRE_HEADER, "the version byte changes inside the connection");
    } else {
        nb_keep(event, NB_RULE_WIRE_HEADER);
    }
}

/* WIRE-13: one end that both sends data and requests data. */
static void judge_direction(const struct nb_event *event)
{
    struct nb_end *side = &event->stream->end[event->end];
    const uint8_t type = event->packet->type;
    const struct nb_charge charge = {
        .rule = NB_RULE_WIRE_DIRECTION, .offender = event->end, .forgiven = NB_DOUBT_ROLES};

    side->sent = side->sent || nb_has_high_seq(type);
    side->received = side->received || type == NB_CONTROL || type == NB_DONE;
    if (!side->sent && !side->received) {
        return;
    }
    if (side->transfer.frame == 0 && type != NB_DONE) {
        side->transfer = nb_mark_of(event);
    }
    if (!side->sent || !side->received) {
        nb_keep(event, NB_RULE_WIRE_DIRECTION);
    } else if (!emitter_of(event)->clashed) {
        emitter_of(event)->clashed = true;
        nb_blame(event, &charge, "%s, though this end %s before", nb_type_name(type),
                 nb_has_high_seq(type) ? "acted as receiver" : "sent data");
    }
}

static uint16_t swapped(uint16_t value)
{
    return (uint16_t)(value << 8 | value >> 8);
}

/* CKSUM-04 */
static void judge_data_checksum(const struct nb_event *event)
{
    struct emitter *emitter = emitter_of(event);
    const struct nb_packet *packet = event->packet;
    struct nb_charge charge = {
        .rule = NB_RULE_CKSUM_DATA, .offender = event->end, .excuse = "they may have been damaged on the way"};

    if (packet->data_checksum == NB_GOOD) {
        emitter->good_data = true;
        nb_keep(event, NB_RULE_CKSUM_DATA);
        return;
    }
    if (packet->data_checksum != NB_BAD) {
        return;
    }
    const uint16_t field = tvb_get_ntohs(packet->tvb, packet->layout->high_seq + 4);
    const uint16_t sum = nb_sum(packet->tvb, packet->layout->data, packet->end - packet->layout->data);
    const char *like = field == 0                         ? "zero"
                       : field == sum                     ? "the sum itself"
                       : field == swapped((uint16_t)~sum) ? "right with its bytes swapped"
                                                          : NULL;
    emitter->data_left_out += emitter->data_left_out < UINT8_MAX && like != NULL;
    emitter->bad_data += emitter->bad_data < UINT8_MAX;
    if (emitter->data_left_out >= ALIKE_TO_PROVE || (!emitter->good_data && emitter->bad_data >= BAD_TO_PROVE)) {
        charge.excuse = NULL;
        nb_blame(event, &charge, "the data checksum is %s, as in %u packets before", field == 0 ? "left out" : "wrong",
                 emitter->bad_data - 1);
    } else if (like != NULL) {
        nb_blame(event, &charge, "the data checksum is %s", like);
    }
}

void nb_wire_packet(const struct nb_event *event)
{
    struct emitter *emitter = emitter_of(event);
    const struct nb_charge variant = {
        .rule = NB_RULE_CKSUM_COVERAGE, .offender = event->end, .excuse = "RFC 998 can be read so (AMB-04)"};

    nb_wire_version(event);
    nb_keep(event, NB_RULE_WIRE_TYPE);
    if (!event->over_udp) {
        nb_keep(event, NB_RULE_WIRE_CARRIER);
    }
    judge_direction(event);
    judge_length(event);
    judge_body(event);
    emitter->good_types |= (uint16_t)(1U << event->packet->type);
    if (event->packet->header_checksum == NB_GOOD) {
        emitter->zero_fits |= event->packet->checksum == 0;
        nb_keep(event, NB_RULE_CKSUM_ALL);
        nb_keep(event, NB_RULE_CKSUM_ALGORITHM);
        if (nb_is_data(event->packet->type)) {
            nb_keep(event, NB_RULE_CKSUM_COVERAGE);
        }
    } else if (event->packet->header_checksum == NB_COVERS_DATA) {
        nb_blame(event, &variant, "the header checksum covers the data, too");
    }
    if (nb_is_data(event->packet->type)) {
        judge_data_checksum(event);
    }
}

static uint16_t ones_add(uint32_t a, uint32_t b)
{
    const uint32_t sum = a + b;

    return (uint16_t)((sum & 0xFFFF) + (sum >> 16));
}

static bool fits_pseudo_header(const struct nb_event *event)
{
    const struct nb_packet *packet = event->packet;
    const address *const ends[2] = {&event->stream->end[0].address, &event->stream->end[1].address};
    uint16_t sum = ones_add(packet->header_sum, NB_IP_PROTOCOL);

    if (ends[0]->type != AT_IPv4 || ends[1]->type != AT_IPv4) {
        return false;
    }
    for (int end = 0; end < 2; end++) {
        const uint8_t *bytes = (const uint8_t *)ends[end]->data;
        sum = ones_add(sum, (uint32_t)bytes[0] << 8 | bytes[1]);
        sum = ones_add(sum, (uint32_t)bytes[2] << 8 | bytes[3]);
    }
    return nb_sum_fits(ones_add(sum, packet->length));
}

/* What the packet alone shows; -1: nothing. */
static int plain_mistake(const struct nb_packet *packet)
{
    const uint16_t expected = nb_expected_checksum(packet->header_sum, packet->checksum);

    if (packet->checksum == 0) {
        return LEFT_OUT;
    }
    if ((uint32_t)packet->checksum + expected == UINT16_MAX) {
        return NOT_COMPLEMENTED;
    }
    if (packet->checksum == swapped(expected)) {
        return SWAPPED;
    }
    return nb_sum_fits(nb_sum(packet->tvb, 0, NB_HEADER_BYTES)) ? HEADER_ONLY : -1;
}

bool nb_wire_is_miscomputed(const struct nb_packet *packet)
{
    return packet->status == NB_SOUND && packet->header_checksum == NB_BAD && plain_mistake(packet) >= 0;
}

/* -1: damage is the likeliest. */
static int likely_mistake(const struct nb_event *event)
{
    const struct nb_packet *packet = event->packet;
    const uint16_t expected = nb_expected_checksum(packet->header_sum, packet->checksum);
    const int plain = plain_mistake(packet);

    if (plain >= 0) {
        return plain == LEFT_OUT && emitter_of(event)->zero_fits ? -1 : plain;
    }
    if (fits_pseudo_header(event)) {
        return PSEUDO_HEADER;
    }
    if (nb_is_data(packet->type) && (packet->data_flags & NB_DATA_RESERVED) == 0 && event->stream->data_checksummed &&
        packet->captured >= packet->end && nb_data_checksum_fits(packet) &&
        nb_sum_fits(nb_sum(packet->tvb, 0, packet->layout->high_seq + 4))) {
        return STOPS_EARLY;
    }
    return packet->checksum == (uint16_t)(expected + 1) ? CARRY_LOST : -1;
}

/* Damage looks like a mistake now and then, and like nothing most of the time. */
static bool is_habit(const struct emitter *emitter, enum mistake mistake)
{
    const unsigned alike = emitter->like[mistake];

    /* One turned bit in 32 changes a checksum by just one. */
    return alike >= (mistake == CARRY_LOST ? 4 * ALIKE_TO_PROVE : ALIKE_TO_PROVE) &&
           alike * 4 >= emitter->bad_header * 3;
}

/* CKSUM-01, 02, 03 */
static void judge_bad_checksum(const struct nb_event *event)
{
    struct emitter *emitter = emitter_of(event);
    const int mistake = likely_mistake(event);
    const uint8_t type = event->packet->type;
    const bool stops_early = mistake == STOPS_EARLY || (mistake == HEADER_ONLY && nb_is_data(type));
    struct nb_charge charge = {.rule = stops_early                                     ? NB_RULE_CKSUM_COVERAGE
                                       : mistake == LEFT_OUT || mistake == HEADER_ONLY ? NB_RULE_CKSUM_ALL
                                                                                       : NB_RULE_CKSUM_ALGORITHM,
                               .alone = true,
                               .offender = event->end};

    emitter->bad_header++;
    emitter->bad_of_type[type] += emitter->bad_of_type[type] < UINT8_MAX;
    if (mistake >= 0) {
        emitter->like[mistake]++;
    }
    if (mistake == CARRY_LOST && !is_habit(emitter, CARRY_LOST)) {
        return; /* one damaged bit does this, too */
    }
    if (mistake >= 0) {
        charge.excuse = is_habit(emitter, (enum mistake)mistake) ? NULL : "it may have been damaged on the way";
        nb_blame(event, &charge, "the checksum is %s", mistakes[mistake]);
    } else if (emitter->good_types == 0 && emitter->bad_header >= BAD_TO_PROVE) {
        charge.rule = NB_RULE_CKSUM_ALL;
        nb_blame(event, &charge, "the checksum is wrong, as in every packet of this end");
    } else if ((emitter->good_types & 1U << type) == 0 && emitter->bad_of_type[type] >= BAD_TO_PROVE) {
        /* Of others it is right: so what it covers of data packets must be wrong. */
        charge.rule = nb_is_data(type) && emitter->good_types != 0 ? NB_RULE_CKSUM_COVERAGE : NB_RULE_CKSUM_ALL;
        nb_blame(event, &charge, "the checksum is wrong, as in every %s of this end", nb_type_name(type));
    }
}

/* CKSUM-06: messages that came with a bad checksum only must not be acknowledged. */
static void note_damaged_messages(const struct nb_event *event)
{
    enum { NEAR = 64 };
    const struct nb_stream *stream = event->stream;
    struct nb_damaged *damaged = &wire_of(stream)->damaged;
    struct nb_message message;
    int offset = NB_HEADER_BYTES;

    while (nb_next_message(event->packet, &offset, &message) == NB_MESSAGE) {
        const int64_t seq = nb_unwrap(stream->acked, message.seq);
        if (seq > stream->newest && seq <= stream->newest + NEAR && seq > damaged->seq) {
            damaged->above = damaged->seq > stream->newest ? damaged->above : stream->newest;
            damaged->seq = seq;
            damaged->frame = event->frame;
        }
    }
}

/* Does a checksum over `length` bytes fit, whatever else is wrong? */
static bool is_intact(const struct nb_packet *packet, int length)
{
    return length >= NB_HEADER_BYTES && length <= packet->captured && !packet->fragment &&
           nb_sum_fits(nb_sum(packet->tvb, 0, length));
}

bool nb_wire_is_short_open(const struct nb_packet *packet)
{
    return packet->status == NB_LENGTH_BELOW && packet->type == NB_OPEN &&
           packet->length >= NB_HEADER_BYTES + (int)sizeof(packet->uid) && is_intact(packet, packet->length);
}

void nb_wire_broken(const struct nb_event *event, bool verified)
{
    const struct nb_packet *packet = event->packet;
    const bool intact = verified && (is_intact(packet, packet->length) || is_intact(packet, packet->reported));
    const bool as_emitted = event->stream->captured_at == event->end && !packet->fragment;
    const struct nb_charge cut = {.rule = NB_RULE_WIRE_LENGTH,
                                  .offender = event->end,
                                  .excuse = as_emitted ? NULL : "it may have been cut on the way"};

    switch (packet->status) {
    case NB_SOUND:
        if (packet->header_checksum == NB_BAD && verified && !nb_is_data(packet->type) &&
            packet->reported > packet->length && is_intact(packet, packet->reported)) {
            accuse(event, NB_RULE_WIRE_LENGTH, "Length leaves out bytes that the checksum covers");
        } else if (packet->header_checksum == NB_BAD) {
            judge_bad_checksum(event);
            if (packet->type == NB_CONTROL && event->end != event->stream->sender) {
                note_damaged_messages(event);
            }
        }
        break;
    case NB_UNKNOWN_TYPE:
        if (intact) {
            accuse(event, NB_RULE_WIRE_TYPE, "no such type in RFC 998");
        }
        break;
    case NB_LENGTH_BELOW:
        if (intact) {
            accuse(event,
                   nb_is_data(packet->type)      ? NB_RULE_WIRE_DATA
                   : packet->type == NB_NULL_ACK ? NB_RULE_WIRE_NULL_ACK
                   : packet->type <= NB_RESPONSE ? NB_RULE_WIRE_OPEN
                                                 : NB_RULE_WIRE_LENGTH,
                   "Length is below the minimum of the type");
            if (packet->type == NB_NULL_ACK || packet->type <= NB_RESPONSE) {
                accuse(event, packet->type == NB_NULL_ACK ? NB_RULE_R1986_FORMATS : NB_RULE_R1986_OPEN,
                       "Length is below the minimum of the type");
            }
        }
        break;
    case NB_LENGTH_BEYOND:
        nb_blame(event, &cut, "Length is larger than the IP payload");
        break;
    default:
        break;
    }
}
