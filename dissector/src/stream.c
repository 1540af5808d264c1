/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream.h"

#include "analysis.h"
#include "conversation.h"

/* How far back connections on the same ports are told apart by their UID. */
#define EPOCHS_REMEMBERED 8

/* The two ends in a fixed order, so that both directions have the same key. */
struct key {
    uint32_t interface; /* captures may hold two capture points: each is judged by itself */
    uint32_t section;
    uint8_t family;
    uint8_t address[2][16];
    uint16_t port[2];
    uint16_t udp[2];
};

struct slot {
    struct key key; /* of the map's entry: whoever finds it needs the rest */
    struct nb_stream *current;
    struct nb_stream *opening; /* a new UID was seen, its RESPONSE not yet */
};

static wmem_map_t *slots;
static uint32_t next_index;

static unsigned hash_key(gconstpointer data)
{
    return wmem_strong_hash(data, sizeof(struct key));
}

static gboolean equal_keys(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct key)) == 0;
}

/* Packets of one connection come in rows, and hashing the key costs more than comparing it. */
static struct key recent_key;
static struct slot *recent; /* NULL none */

/* All are in file scope: the map goes with the file, the rest has to be reset by hand. */
static void start_file(void)
{
    next_index = 0;
    recent = NULL;
}

/* Asks for memory that will be needed soon, so that the processor does not wait for each line of it by turns. */
static void fetch(const void *memory, size_t bytes)
{
#ifdef __GNUC__
    enum { CACHE_LINE_BYTES = 64 };

    for (size_t at = 0; memory != NULL && at < bytes; at += CACHE_LINE_BYTES) {
        __builtin_prefetch((const char *)memory + at, 1);
    }
#else
    (void)memory, (void)bytes;
#endif
}

/* Among thousands of connections nothing of this one is in the cache when its turn comes. */
static void fetch_stream(const struct nb_stream *stream)
{
    if (stream != NULL) {
        fetch(stream, offsetof(struct nb_stream, flow));
        for (int end = 0; end < 2; end++) {
            fetch(&stream->flow[end], offsetof(struct nb_emission, window));
        }
        fetch(stream->facts, sizeof(*stream->facts));
        fetch(stream->conversation, sizeof(*stream->conversation));
        fetch(stream->redundancy, 64);
        fetch(stream->order, 64);
    }
}

static struct slot *slot_of(const struct key *key)
{
    if (recent == NULL || !equal_keys(key, &recent_key)) {
        recent = (struct slot *)wmem_map_lookup(slots, key);
        recent_key = *key;
        fetch_stream(recent == NULL ? NULL : recent->current);
    }
    return recent;
}

void nb_register_streams(void)
{
    slots = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), hash_key, equal_keys);
    register_init_routine(start_file);
    register_cleanup_routine(start_file);
}

/* Fills *key; the return value is the end that emitted the packet. */
static int make_key(struct key *key, const struct nb_packet *packet, const struct nb_carrier *carrier,
                    const packet_info *pinfo)
{
    const int bytes = MIN(pinfo->src.len, 16);
    const int by_address = memcmp(pinfo->src.data, pinfo->dst.data, (size_t)bytes);
    const int by_port = by_address != 0 ? by_address : (int)packet->local_port - (int)packet->foreign_port;
    const int order = by_port != 0 ? by_port : (int)carrier->udp_source - (int)carrier->udp_target;
    const int end = order <= 0 ? 0 : 1;

    memset(key, 0, sizeof(*key)); /* it is compared byte by byte */
    if (pinfo->rec != NULL && pinfo->rec->presence_flags & WTAP_HAS_INTERFACE_ID) {
        key->interface = pinfo->rec->rec_header.packet_header.interface_id + 1;
    }
    if (pinfo->rec != NULL && pinfo->rec->presence_flags & WTAP_HAS_SECTION_NUMBER) {
        key->section = pinfo->rec->section_number;
    }
    key->family = (uint8_t)pinfo->src.type;
    memcpy(key->address[end], pinfo->src.data, (size_t)bytes);
    memcpy(key->address[1 - end], pinfo->dst.data, (size_t)bytes);
    key->port[end] = packet->local_port;
    key->port[1 - end] = packet->foreign_port;
    key->udp[end] = carrier->udp_source;
    key->udp[1 - end] = carrier->udp_target;
    return end;
}

static struct nb_stream *new_stream(const packet_info *pinfo, int end, struct nb_stream *older)
{
    struct nb_stream *stream = wmem_new0(wmem_file_scope(), struct nb_stream);

    stream->index = next_index++;
    stream->sender = -1;
    stream->older = older;
    stream->follows_another = older != NULL;
    copy_address_wmem(wmem_file_scope(), &stream->ends[end], &pinfo->src);
    copy_address_wmem(wmem_file_scope(), &stream->ends[1 - end], &pinfo->dst);
    nb_reaction_init(&stream->reaction);
    nb_rules_init(stream);
    return stream;
}

uint32_t nb_stream_count(void)
{
    return next_index;
}

static struct nb_stream *find_epoch(const struct slot *slot, uint32_t uid)
{
    struct nb_stream *stream = slot->opening != NULL ? slot->opening : slot->current;

    for (int i = 0; stream != NULL && i < EPOCHS_REMEMBERED; i++, stream = stream->older) {
        if (stream->uid_known && stream->uid == uid) {
            return stream;
        }
    }
    return NULL;
}

/* A RESPONSE that nobody asked for while another connection waits for its own, or lives: perhaps an old one (OPEN-09,
 * OPEN-10). */
static bool is_stray(const struct slot *slot)
{
    return !slot->opening->open_seen && slot->current->open_seen;
}

/* DEMUX-04: a new UID is a new connection. While the old one lives it may be refused (OPEN-09), so that packets without
 * a UID stay with the old one until the RESPONSE. */
static struct nb_stream *place_open(struct slot *slot, const struct nb_packet *packet, const packet_info *pinfo,
                                    int end)
{
    struct nb_stream *stream = find_epoch(slot, packet->uid);

    if (stream == NULL && slot->current != NULL && !slot->current->uid_known && packet->type == NB_RESPONSE) {
        stream = slot->current; /* the capture began between OPEN and RESPONSE */
        stream->uid = packet->uid;
        stream->uid_known = true;
    }
    if (stream == NULL) {
        stream = new_stream(pinfo, end, slot->opening != NULL ? slot->opening : slot->current);
        stream->uid = packet->uid;
        stream->uid_known = true;
        if (slot->current == NULL || slot->current->closed || !slot->current->uid_known) {
            slot->current = stream;
            slot->opening = NULL;
        } else {
            slot->opening = stream;
            slot->current->doubts |= NB_DOUBT_EPOCH;
        }
    }
    if (packet->type == NB_RESPONSE && stream == slot->opening && !is_stray(slot)) {
        slot->current = stream;
        slot->opening = NULL;
    }
    return stream;
}

/* The first message comes again, though it was acknowledged: numbers begin anew. */
static bool begins_anew(const struct nb_stream *stream, const struct nb_packet *packet)
{
    struct nb_message message;
    int offset = NB_HEADER_BYTES;

    return packet->type == NB_CONTROL && nb_next_message(packet, &offset, &message) == NB_MESSAGE && message.seq == 1 &&
           nb_unwrap(stream->acked, message.seq) <= stream->acked;
}

/* OPEN-10: an end that takes part in the transfer has accepted some RESPONSE; without the right one, the stray one. A
 * connection that has its own goes on, unless the OPEN of another one escaped the capture. */
static void accept_stray(struct slot *slot, const struct nb_packet *packet)
{
    const bool transfer = packet->type == NB_CONTROL || nb_has_high_seq(packet->type);

    if (transfer && slot->opening != NULL && slot->opening->response_seen && is_stray(slot) &&
        (!slot->current->response_seen || begins_anew(slot->current, packet))) {
        slot->current = slot->opening;
        slot->opening = NULL;
    }
}

struct nb_stream *nb_stream_of(const struct nb_packet *packet, const struct nb_carrier *carrier, packet_info *pinfo,
                               int *end)
{
    struct key key;

    *end = make_key(&key, packet, carrier, pinfo);
    struct slot *slot = slot_of(&key);
    if (slot == NULL) {
        slot = wmem_new0(wmem_file_scope(), struct slot);
        slot->key = key;
        wmem_map_insert(slots, &slot->key, slot);
        recent = slot;
    }
    if (packet->type == NB_OPEN || packet->type == NB_RESPONSE) {
        return place_open(slot, packet, pinfo, *end);
    }
    if (packet->type == NB_REFUSED && slot->opening != NULL && slot->opening->open_seen) {
        return slot->opening;
    }
    accept_stray(slot, packet);
    if (slot->current == NULL) {
        slot->current = new_stream(pinfo, *end, NULL);
    }
    return slot->current;
}

struct nb_stream *nb_stream_lookup(const struct nb_packet *packet, const struct nb_carrier *carrier, packet_info *pinfo,
                                   int *end)
{
    struct key key;

    *end = make_key(&key, packet, carrier, pinfo);
    const struct slot *slot = slot_of(&key);
    return slot == NULL ? NULL : slot->current;
}

bool nb_whole_story(const struct nb_stream *stream)
{
    return stream->open_seen && stream->response_seen && stream->doubts == 0;
}

const char *nb_what_is_missing(const struct nb_stream *stream)
{
    static const struct {
        unsigned doubt;
        const char *text;
    } words[] = {
        {NB_DOUBT_UNSEEN_ACKED, "the capture missed an acknowledged message"},
        {NB_DOUBT_UNSEEN_DATA, "the capture missed packets of an OK'd buffer"},
        {NB_DOUBT_CUT, "frames are truncated or fragmented"},
        {NB_DOUBT_ROLES, "both ends act in the same role"},
        {NB_DOUBT_EPOCH, "another connection may share these ports"},
        {NB_DOUBT_UNVERIFIED, "checksums are not validated"},
        {NB_DOUBT_BEGINNING, "the transfer began before OPEN and RESPONSE were captured"},
        {NB_DOUBT_DATAGRAM, "a datagram held packets of unequal size"},
    };

    if (!stream->open_seen || !stream->response_seen) {
        return "OPEN and RESPONSE were not both captured";
    }
    for (size_t i = 0; i < array_length(words); i++) {
        if (stream->doubts & words[i].doubt) {
            return words[i].text;
        }
    }
    return "nothing is missing";
}

const char *nb_offender(const struct nb_stream *stream, int end)
{
    char *text = address_to_str(NULL, &stream->ends[end]);
    const char *result = wmem_strdup_printf(wmem_file_scope(), "%s %s", text,
                                            stream->sender < 0      ? "unknown"
                                            : stream->sender == end ? "sender"
                                                                    : "receiver");

    wmem_free(NULL, text);
    return result;
}
