/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The buffers of a connection: what was captured of each. */
#include "connection/buffers.h"

#include "wireshark/arena.h"
#include "wireshark/memory.h"

/* Buffers come in ascending order; one that does not find its place within so many steps is not worth the time. */
#define STEPS_TO_PLACE 64

/* A forged buffer number must not cost memory for all the numbers below it. */
#define LARGEST_GAP 1024U

int64_t nb_buffer_order(const struct nb_buffers *buffers, uint32_t number)
{
    const int64_t numbers = INT64_C(1) << 32;
    const bool wrapped = buffers->known && number < buffers->base && buffers->base - number > numbers / 2;

    return number + (wrapped ? numbers : 0);
}

/* Numbers are counted up, so nearly every buffer has its place after the one before. */
static bool is_near(const struct nb_buffers *buffers, uint32_t number)
{
    return buffers->known && number - buffers->base < buffers->lives.count + LARGEST_GAP;
}

static struct nb_buffer_life *life_place(const struct nb_buffers *buffers, uint32_t number)
{
    const uint32_t at = number - buffers->base;

    if (!buffers->known || at >= buffers->lives.count) {
        return NULL;
    }
    return (struct nb_buffer_life *)nb_series_at(&buffers->lives, at, sizeof(struct nb_buffer_life));
}

static struct nb_buffer_life *find_life(const struct nb_buffers *buffers, uint32_t number)
{
    struct nb_buffer_life *life = life_place(buffers, number);
    struct nb_buffer_life *far_one = NULL;

    /* It may have been far when it was made, and near by now. */
    if ((life == NULL || !life->made) && buffers->far_lives != NULL) {
        far_one = (struct nb_buffer_life *)wmem_map_lookup(buffers->far_lives, GUINT_TO_POINTER(number));
    }
    return far_one != NULL ? far_one : life;
}

static struct nb_buffer_life *make_far(struct nb_buffers *buffers, uint32_t number)
{
    if (!nb_memory_ask(sizeof(struct nb_buffer_life) + NB_MAP_ENTRY_BYTES)) {
        return NULL;
    }
    struct nb_buffer_life *life = (struct nb_buffer_life *)nb_file_new0(sizeof(struct nb_buffer_life));
    nb_memory_take(NB_MAP_ENTRY_BYTES);
    if (buffers->far_lives == NULL) {
        buffers->far_lives = wmem_map_new(wmem_file_scope(), g_direct_hash, g_direct_equal);
    }
    wmem_map_insert(buffers->far_lives, GUINT_TO_POINTER(number), life);
    return life;
}

static struct nb_buffer_life *make_place(struct nb_buffers *buffers, uint32_t number)
{
    if (!buffers->known) {
        buffers->known = true;
        buffers->base = number;
    }
    const uint32_t count = number - buffers->base + 1;
    const uint32_t more = count > buffers->lives.count ? count - buffers->lives.count : 0;
    if (!is_near(buffers, number) || !nb_memory_allows(more * sizeof(struct nb_buffer_life)) ||
        !nb_series_grow(&buffers->lives, count, sizeof(struct nb_buffer_life))) {
        return make_far(buffers, number);
    }
    return find_life(buffers, number);
}

struct nb_buffer_life *nb_buffer_life_find(const struct nb_buffers *buffers, uint32_t number)
{
    struct nb_buffer_life *life = find_life(buffers, number);

    return life != NULL && life->made ? life : NULL;
}

struct nb_buffer_life *nb_buffer_life(struct nb_buffers *buffers, uint32_t number, bool make)
{
    struct nb_buffer_life *life = buffers->recent;

    if (life != NULL && life->number == number) {
        return life;
    }
    life = find_life(buffers, number);
    if (life == NULL && make) {
        life = make_place(buffers, number);
    }
    if (life == NULL || (!life->made && !make)) {
        return NULL;
    }
    if (!life->made) {
        life->made = true;
        life->number = number;
        life->highest = -1;
    }
    buffers->recent = life;
    return life;
}

struct nb_buffer *nb_buffer_find(const struct nb_buffers *buffers, uint32_t number)
{
    const struct nb_buffer_life *life = nb_buffer_life_find(buffers, number);

    return life == NULL ? NULL : life->transfer;
}

static void link_in(struct nb_buffers *buffers, struct nb_buffer *buffer)
{
    struct nb_buffer *below = buffers->highest;

    for (int i = 0;
         i < STEPS_TO_PLACE && below != NULL && nb_buffer_is_after(buffers, below->life->number, buffer->life->number);
         i++) {
        below = below->lower;
    }
    buffer->lower = below;
    buffer->higher = below == NULL ? buffers->lowest : below->higher;
    if (buffer->higher != NULL) {
        buffer->higher->lower = buffer;
    } else {
        buffers->highest = buffer;
    }
    if (below != NULL) {
        below->higher = buffer;
    } else {
        buffers->lowest = buffer;
    }
}

/* Zeroed. What was just laid down is in the cache. */
static struct nb_buffer *take_spare(struct nb_buffers *buffers)
{
    struct nb_buffer *buffer = buffers->spare;

    if (buffer == NULL) {
        return (struct nb_buffer *)nb_arena_new0(sizeof(struct nb_buffer));
    }
    buffers->spare = buffer->higher;
    memset(buffer, 0, sizeof(*buffer));
    return buffer;
}

static void lay_down(struct nb_buffers *buffers, struct nb_buffer *buffer)
{
    if (NB_SANITIZED) {
        nb_file_free(buffer, sizeof(*buffer));
        return;
    }
    buffer->higher = buffers->spare;
    buffers->spare = buffer;
}

/* Lies where the parts were. */
struct nb_spare_parts {
    struct nb_spare_parts *next;
    uint32_t room;
};

/* The buffer has none afterwards. */
static void lay_down_parts(struct nb_buffers *buffers, struct nb_buffer *buffer)
{
    struct nb_spare_parts *spare = (struct nb_spare_parts *)buffer->parts;

    if (NB_SANITIZED) {
        nb_file_free(spare, buffer->room * sizeof(struct nb_part));
    } else if (spare != NULL) {
        *spare = (struct nb_spare_parts){.next = buffers->spare_parts, .room = buffer->room};
        buffers->spare_parts = spare;
    }
    buffer->parts = NULL;
    buffer->room = 0;
}

static void take_spare_parts(struct nb_buffers *buffers, struct nb_buffer *buffer)
{
    struct nb_spare_parts *spare = buffers->spare_parts;

    buffers->spare_parts = spare->next;
    buffer->room = spare->room;
    buffer->parts = (struct nb_part *)memset(spare, 0, spare->room * sizeof(struct nb_part));
}

struct nb_buffer *nb_buffer_get(struct nb_buffers *buffers, uint32_t number)
{
    struct nb_buffer *buffer = nb_buffer_find(buffers, number);

    if (buffer != NULL) {
        return buffer;
    }
    buffer = take_spare(buffers);
    buffer->life = nb_buffer_life(buffers, number, true);
    if (buffer->life == NULL) { /* no memory: nothing of this connection is judged after this packet */
        buffer->life = (struct nb_buffer_life *)nb_arena_new0(sizeof(struct nb_buffer_life));
        buffer->life->number = number;
        buffer->life->highest = -1;
    }
    buffer->life->transfer = buffer;
    buffer->last = -1;
    link_in(buffers, buffer);
    return buffer;
}

bool nb_buffer_is_done(const struct nb_buffers *buffers, uint32_t number)
{
    return buffers->base_known && nb_buffer_order(buffers, number) < buffers->done_below;
}

int64_t nb_buffer_unasked_ok(const struct nb_buffers *buffers, uint32_t number, uint16_t packet)
{
    const struct nb_gone *gone = buffers->gone == NULL ? NULL : &buffers->gone[number % NB_BUFFERS_GONE];

    return gone != NULL && gone->number == number && (int)packet <= gone->last ? gone->ok_seq : 0;
}

struct nb_part *nb_buffer_known_part(const struct nb_buffer *buffer, uint16_t packet)
{
    return packet < buffer->room ? &buffer->parts[packet] : NULL;
}

static uint32_t room_for(uint32_t room, uint16_t packet)
{
    while (room <= packet) {
        room *= 2;
    }
    return room;
}

/* False when there is no memory for so many packets. */
static bool make_room(struct nb_buffers *buffers, struct nb_buffer *buffer, uint16_t packet)
{
    enum { FIRST_ROOM = 16, USUAL_AT_MOST = 256 };
    const size_t before = buffer->room * sizeof(struct nb_part);
    uint32_t room = room_for(MAX(MAX(buffer->room, buffers->usual_room), FIRST_ROOM), packet);

    if (!nb_memory_allows(room * sizeof(struct nb_part) - before)) {
        room = room_for(MAX(buffer->room, FIRST_ROOM), packet);
    }
    if (!nb_memory_ask(room * sizeof(struct nb_part) - before)) {
        return false;
    }
    buffer->parts = (struct nb_part *)nb_file_realloc(buffer->parts, before, room * sizeof(struct nb_part));
    memset(buffer->parts + buffer->room, 0, (room - buffer->room) * sizeof(struct nb_part));
    buffer->room = room;
    buffers->usual_room = MIN(room, USUAL_AT_MOST);
    return true;
}

struct nb_part *nb_buffer_part(struct nb_buffers *buffers, struct nb_buffer *buffer, uint16_t packet)
{
    if (buffer->room == 0 && buffers->spare_parts != NULL) {
        take_spare_parts(buffers, buffer);
    }
    if (packet >= buffer->room && !make_room(buffers, buffer, packet)) {
        return NULL;
    }
    return &buffer->parts[packet];
}

static void forget(struct nb_buffers *buffers, struct nb_buffer *buffer)
{
    if (buffer->lower != NULL) {
        buffer->lower->higher = buffer->higher;
    } else {
        buffers->lowest = buffer->higher;
    }
    if (buffer->higher != NULL) {
        buffer->higher->lower = buffer->lower;
    } else {
        buffers->highest = buffer->lower;
    }
    buffer->life->transfer = NULL;
    lay_down(buffers, buffer);
}

/* Every packet was captured, and none acknowledges the OK: what will do so is another copy. */
static void remember_gone(struct nb_buffers *buffers, const struct nb_buffer *buffer)
{
    const bool sent_once_before = buffer->ask_seq == 0 && buffer->told_ack < buffer->ok_seq && !buffer->ended_twice &&
                                  nb_buffer_is_whole(buffers, buffer, false);

    if (buffers->gone == NULL) {
        buffers->gone = (struct nb_gone *)nb_arena_new0(NB_BUFFERS_GONE * sizeof(struct nb_gone));
    }
    buffers->gone[buffer->life->number % NB_BUFFERS_GONE] =
        (struct nb_gone){.number = buffer->life->number,
                         .last = sent_once_before ? buffer->last : -1,
                         .ok_seq = sent_once_before ? buffer->ok_seq : 0};
}

/* The lowest buffer that is not done; a receiver may leave out numbers (DATA-06). NULL when it is not known. */
static struct nb_buffer *next_to_forget(struct nb_buffers *buffers)
{
    struct nb_buffer *lowest = buffers->lowest;

    if (lowest != NULL && lowest->follows_known &&
        nb_buffer_order(buffers, lowest->follows) + 1 == buffers->done_below) {
        return lowest;
    }
    return nb_buffer_find(buffers, (uint32_t)buffers->done_below);
}

/* A buffer that is done before a lower one stays as an empty shell until that is done too. */
void nb_buffer_retire(struct nb_buffers *buffers, struct nb_buffer *buffer)
{
    if (buffer->life->highest >= 0 && buffers->started > 0) {
        buffers->started--;
    }
    remember_gone(buffers, buffer);
    lay_down_parts(buffers, buffer);
    buffer->retired = true;
    if (!buffers->base_known) {
        buffers->base_known = true;
        buffers->done_below = nb_buffer_order(buffers, buffers->lowest->life->number);
    }
    while ((buffer = next_to_forget(buffers)) != NULL && buffer->retired) {
        buffers->done_below = nb_buffer_order(buffers, buffer->life->number) + 1;
        forget(buffers, buffer);
    }
}

uint32_t nb_buffer_requests(const struct nb_buffer *buffer, uint32_t packet)
{
    uint32_t count = packet < buffer->room ? buffer->parts[packet].asked : 0;

    for (uint32_t i = packet + 1; (int)packet == buffer->last && i < buffer->room; i++) {
        count += buffer->parts[i].asked;
    }
    return count;
}

/* Packets that a sender numbered beyond its LDATA. They belong to no buffer, so a receiver rightly goes without
 * them. */
static uint32_t beyond_last(const struct nb_buffer *buffer)
{
    uint32_t count = 0;

    for (int n = buffer->last + 1; n <= buffer->life->highest && (uint32_t)n < buffer->room; n++) {
        count += (buffer->parts[n].flags & NB_PART_SEEN) != 0;
    }
    return count;
}

uint32_t nb_buffer_spoilt(const struct nb_buffer *buffer)
{
    uint32_t count = 0;

    for (int n = 0; n <= buffer->last && (uint32_t)n < buffer->room; n++) {
        count += (buffer->parts[n].flags & (NB_PART_SEEN | NB_PART_GOOD)) == NB_PART_SEEN;
    }
    return count;
}

bool nb_buffer_is_whole(const struct nb_buffers *buffers, const struct nb_buffer *buffer, bool unbroken)
{
    if (buffer == NULL || buffer->last < 0) {
        return false;
    }
    const uint32_t packets = buffer->distinct - beyond_last(buffer);
    return packets == (uint32_t)buffer->last + 1 ||
           (packets == (uint32_t)buffer->last && !buffers->from_zero && (unbroken || buffers->from_one));
}
