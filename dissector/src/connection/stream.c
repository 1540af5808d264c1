/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model of a connection: which packets belong to it. */
#include "connection/stream.h"

#include "wireshark/arena.h"

/* How far back connections on the same ports are distinguished by their UID. */
#define EPOCHS_REMEMBERED 8
/* As many connections back the RESPONSE to an OPEN may come from: a flood of OPENs must not make each walk longer. */
#define RESPONSES_REMEMBERED 64

/* The two ends in a fixed order, so that both directions have the same key. */
struct key {
    uint32_t interface; /* captures may hold two capture points: each is judged by itself */
    uint32_t section;
    uint8_t family;
    uint8_t address[2][16];
    uint16_t port[2];
    uint16_t udp[2];
};

/* Who opened with which UID. */
struct uid_key {
    uint32_t interface;
    uint32_t section;
    uint32_t uid;
    uint8_t family;
    uint8_t address[16];
};

/* Bytes that nb_stream_reserve gave away. */
static size_t reserved;

/* What uses a pair of ports, one connection after the other. */
struct slot {
    struct key key; /* first: the table holds slots by their keys */
    struct nb_stream *current;
    struct nb_stream *opening; /* a new UID was seen, its RESPONSE not yet */
};

/* Not Wireshark's conversations. The key of find_conversation is two addresses and two ports, but a capture may hold
 * one connection several times (interface, section), and several connections may share NETBLT ports over UDP.
 * find_conversation_full accepts such keys and costs 550 to 2,300 ns a packet more than this table; find_conversation
 * costs 50 to 1,150 ns more (dissector/bench/store.py: one connection, and 10,000 by turns). */

/* GLib keeps the hashes side by side: with thousands of connections a wmem_map waits for memory at each entry that it
 * looks at. */
static GHashTable *slots;
static GHashTable *uids;   /* struct uid_key to the newest connection that was opened so */
static GPtrArray *streams; /* in file scope, by their index */

/* Packets of one connection come in rows, and hashing the key costs more than comparing it. */
static struct key recent_key;
static struct slot *recent; /* NULL none */

static unsigned hash_key(gconstpointer data)
{
    return wmem_strong_hash(data, sizeof(struct key));
}

static unsigned hash_uid(gconstpointer data)
{
    return wmem_strong_hash(data, sizeof(struct uid_key));
}

static gboolean same_uid(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct uid_key)) == 0;
}

static bool same_key(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct key)) == 0;
}

static gboolean is_slot_of(gconstpointer slot, gconstpointer key)
{
    return same_key(slot, key);
}

/* The slots are in file scope and go with the file. */
static void end_file(void)
{
    if (slots != NULL) {
        g_hash_table_destroy(slots);
        g_hash_table_destroy(uids);
        g_ptr_array_free(streams, TRUE);
    }
    slots = NULL;
    uids = NULL;
    streams = NULL;
    recent = NULL;
}

static void start_file(void)
{
    end_file();
    slots = g_hash_table_new(hash_key, is_slot_of);
    uids = g_hash_table_new(hash_uid, same_uid);
    streams = g_ptr_array_new();
}

static struct slot *slot_of(const struct key *key)
{
    if (recent == NULL || !same_key(key, &recent_key)) {
        recent = (struct slot *)g_hash_table_lookup(slots, key);
        recent_key = *key;
    }
    return recent;
}

void nb_register_streams(void)
{
    register_init_routine(start_file);
    register_cleanup_routine(end_file);
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

static struct nb_stream *new_stream(struct slot *slot, const packet_info *pinfo, int end)
{
    struct nb_stream *older = slot->opening != NULL ? slot->opening : slot->current;
    struct nb_stream *stream = (struct nb_stream *)nb_arena_new0(sizeof(struct nb_stream) + reserved);

    nb_account_open(&stream->account, &nb_quota_analysis, sizeof(struct slot) + NB_MAP_ENTRY_BYTES);
    nb_memory_begin(&stream->account, pinfo->num);
    stream->index = streams->len;
    stream->quickest_ack = -1;
    stream->messages.marked = -1;
    g_ptr_array_add(streams, stream);
    stream->sender = -1;
    stream->active = -1;
    stream->end[0].last_when = stream->end[1].last_when = -1;
    stream->older = older;
    stream->follows_another = older != NULL;
    stream->end[0].port = slot->key.port[0];
    stream->end[1].port = slot->key.port[1];
    copy_address_wmem(wmem_file_scope(), &stream->end[end].address, &pinfo->src);
    copy_address_wmem(wmem_file_scope(), &stream->end[1 - end].address, &pinfo->dst);
    nb_reaction_init(&stream->reaction);
    return stream;
}

struct nb_stream *nb_stream_of_record(const struct nb_record *record)
{
    return record == NULL || record->stream == 0 ? NULL
                                                 : (struct nb_stream *)g_ptr_array_index(streams, record->stream - 1);
}

size_t nb_stream_reserve(size_t bytes)
{
    const size_t place = reserved;

    reserved += (bytes + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
    return place;
}

uint32_t nb_stream_count(void)
{
    return streams == NULL ? 0 : streams->len;
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

/* A RESPONSE to no captured OPEN while another connection waits for its own, or lives: perhaps an old one (OPEN-09,
 * OPEN-10). */
static bool is_stray(const struct slot *slot)
{
    return !slot->opening->open_seen && slot->current->open_seen;
}

/* The transfer came to its end, or this connection to another one, so that its ID may be used again. An OPEN that was
 * declined is no connection. */
static bool is_over(const struct nb_stream *stream, double now)
{
    const double last_when = MAX(stream->end[0].last_when, stream->end[1].last_when);
    const unsigned death_timer = MAX(nb_terms_by(stream, 0)->death_timer, nb_terms_by(stream, 1)->death_timer);

    return stream->response_seen &&
           (stream->closed || (stream->last.known && stream->last.ok_seq != 0) || stream->end[0].quits > 0 ||
            stream->end[1].quits > 0 || (death_timer > 0 && now - last_when > death_timer));
}

/* The packet was emitted before others that this end emitted from these ports. */
static bool is_behind(const struct nb_stream *newest, const struct nb_carrier *carrier, const packet_info *pinfo,
                      int end)
{
    const struct nb_origin origin = nb_origin_of(carrier, pinfo->num);

    for (int i = 0; newest != NULL && i < EPOCHS_REMEMBERED; i++, newest = newest->older) {
        if (newest->end[end].flow.started) {
            return nb_emission_is_behind(&newest->end[end].flow, &origin);
        }
    }
    return false;
}

/* DEMUX-04, OPEN-14: the OPEN of a connection that is over opens a new one. A late copy of the old OPEN opens nothing:
 * it is known by its IP ID, and where that shows nothing, neither end is suspected. */
static bool opens_again(const struct slot *slot, struct nb_stream *stream, const struct nb_carrier *carrier,
                        const packet_info *pinfo, int end)
{
    const struct nb_stream *newest = slot->opening != NULL ? slot->opening : slot->current;

    if (!is_over(stream, nstime_to_sec(&pinfo->rel_ts))) {
        return false;
    }
    if (!is_behind(newest, carrier, pinfo, end)) {
        return true;
    }
    if (!nb_emission_counts(&stream->end[end].flow, NB_EVIDENCE_BITS)) {
        stream->doubts |= NB_DOUBT_EPOCH;
    }
    return false;
}

/* A RESPONSE to the second OPEN with this UID may be a late copy of the RESPONSE to the first. */
static struct nb_stream *answered_again(struct nb_stream *stream, const struct nb_carrier *carrier,
                                        const packet_info *pinfo, int end)
{
    struct nb_stream *before = stream->older;

    for (int i = 0; i < RESPONSES_REMEMBERED && before != NULL && !(before->uid_known && before->uid == stream->uid);
         i++) {
        before = before->older;
    }
    if (before == NULL || before->uid != stream->uid || stream->response_seen) {
        return stream;
    }
    if (is_behind(stream->older, carrier, pinfo, end)) {
        return before;
    }
    if (!nb_emission_counts(&before->end[end].flow, NB_EVIDENCE_BITS)) {
        stream->doubts |= NB_DOUBT_EPOCH;
    }
    return stream;
}

/* OPEN-14 */
static void note_uid(struct nb_stream *stream, const struct key *key, int opener)
{
    struct uid_key *mine = (struct uid_key *)nb_arena_new0(sizeof(struct uid_key));

    mine->interface = key->interface;
    mine->section = key->section;
    mine->family = key->family;
    mine->uid = stream->uid;
    memcpy(mine->address, key->address[opener], sizeof(mine->address));
    stream->same_uid = (const struct nb_stream *)g_hash_table_lookup(uids, mine);
    g_hash_table_replace(uids, mine, stream);
}

/* DEMUX-04: a new UID is a new connection. While the old one lives it may be refused (OPEN-09), so that packets without
 * a UID stay with the old one until the RESPONSE. */
static struct nb_stream *place_open(struct slot *slot, const struct nb_packet *packet, const struct nb_carrier *carrier,
                                    const packet_info *pinfo, int end)
{
    struct nb_stream *stream = find_epoch(slot, packet->uid);
    const struct nb_stream *before = stream;

    if (stream != NULL && packet->type == NB_RESPONSE) {
        stream = answered_again(stream, carrier, pinfo, end);
    } else if (stream != NULL && opens_again(slot, stream, carrier, pinfo, end)) {
        stream = NULL;
    }
    if (stream == NULL && slot->current != NULL && !slot->current->uid_known && packet->type == NB_RESPONSE) {
        stream = slot->current; /* the capture began between OPEN and RESPONSE */
        stream->uid = packet->uid;
        stream->uid_known = true;
    }
    if (stream == NULL) {
        stream = new_stream(slot, pinfo, end);
        stream->uid = packet->uid;
        stream->uid_known = true;
        if (before != NULL && !nb_emission_counts(&before->end[end].flow, NB_EVIDENCE_BITS)) {
            stream->doubts |= NB_DOUBT_EPOCH;
        }
        if (slot->current == NULL || slot->current->closed || !slot->current->uid_known) {
            slot->current = stream;
            slot->opening = NULL;
        } else {
            slot->opening = stream;
            slot->current->doubts |= NB_DOUBT_EPOCH;
        }
    }
    if (packet->type == NB_OPEN && !stream->open_seen) {
        note_uid(stream, &slot->key, end);
    }
    if (packet->type == NB_RESPONSE && stream == slot->opening && !is_stray(slot)) {
        slot->current = stream;
        slot->opening = NULL;
    }
    return stream;
}

/* The first message is repeated, though it was acknowledged: numbers restart. */
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
        slot = (struct slot *)nb_arena_new0(sizeof(struct slot));
        slot->key = key;
        g_hash_table_add(slots, slot);
        recent = slot;
    }
    if (packet->type == NB_OPEN || packet->type == NB_RESPONSE) {
        return place_open(slot, packet, carrier, pinfo, *end);
    }
    if (packet->type == NB_REFUSED && slot->opening != NULL && slot->opening->open_seen) {
        return slot->opening;
    }
    accept_stray(slot, packet);
    if (slot->current == NULL) {
        slot->current = new_stream(slot, pinfo, *end);
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
    return stream->open_seen && stream->response_seen && stream->doubts == 0 && stream->account.exhausted_frame == 0;
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
    if (stream->account.exhausted_frame != 0) {
        return "there was no memory for more of this connection";
    }
    for (size_t i = 0; i < array_length(words); i++) {
        if (stream->doubts & words[i].doubt) {
            return words[i].text;
        }
    }
    return "nothing is missing";
}

const char *nb_offender(struct nb_stream *stream, int end)
{
    static const char *const roles[] = {"unknown", "sender", "receiver"};
    const int role = stream->sender < 0 ? 0 : stream->sender == end ? 1 : 2;
    const char **known = &stream->offenders[end][role];

    if (*known == NULL) {
        char *text = address_to_str(NULL, &stream->end[end].address);
        *known = nb_file_printf("%s %s", text, roles[role]);
        wmem_free(NULL, text);
    }
    return *known;
}
