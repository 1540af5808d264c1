/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records lie in blocks in capture order, found over a table of frames. Wireshark's own per-frame store
 * (p_add_proto_data) needs 95 to 116 bytes a packet for the same record, these blocks 46 to 51, and 90 to 170 ns a
 * packet more (dissector/bench/store.py). It returns the data of the present frame only; the links between packets
 * (retransmitted in, acknowledged in, proven in) are written into records of earlier frames. */
#include "connection/record.h"

#include "wireshark/arena.h"

#define BLOCK_RECORDS 1024U
#define BLOCK_FRAMES 4096U

struct blocks {
    void **block;
    uint32_t count;
};

static struct blocks records; /* of struct nb_record[BLOCK_RECORDS] */
static struct blocks frames;  /* of uint32_t[BLOCK_FRAMES]: ordinal + 1 of the frame's first record; 0 none */
static uint32_t used;
static uint32_t newest_frame; /* the last one to begin, and where it lies in the file */
static int64_t newest_offset;

/* All memory is in file scope, so it goes with the file; only the pointers have to be forgotten. */
static void forget(void)
{
    memset(&records, 0, sizeof(records));
    memset(&frames, 0, sizeof(frames));
    used = 0;
    newest_frame = 0;
}

void nb_register_records(void)
{
    register_init_routine(forget);
    register_cleanup_routine(forget);
}

/* Block number `number`, made when it is not there. */
static void *get_block(struct blocks *blocks, uint32_t number, size_t bytes)
{
    if (number >= blocks->count) {
        const uint32_t count = MAX(number + 1, blocks->count * 2);

        blocks->block = (void **)wmem_realloc(wmem_file_scope(), blocks->block, count * sizeof(void *));
        memset(blocks->block + blocks->count, 0, (count - blocks->count) * sizeof(void *));
        blocks->count = count;
    }
    if (blocks->block[number] == NULL) {
        blocks->block[number] = nb_arena_new0(bytes);
    }
    return blocks->block[number];
}

void nb_record_begin(uint32_t frame, int64_t offset)
{
    if (frame == newest_frame && offset != newest_offset && frame / BLOCK_FRAMES < frames.count &&
        frames.block[frame / BLOCK_FRAMES] != NULL) {
        ((uint32_t *)frames.block[frame / BLOCK_FRAMES])[frame % BLOCK_FRAMES] = 0;
    }
    newest_frame = frame;
    newest_offset = offset;
}

struct nb_record *nb_record_add(uint32_t frame, uint32_t key)
{
    struct nb_record *block =
        (struct nb_record *)get_block(&records, used / BLOCK_RECORDS, BLOCK_RECORDS * sizeof(struct nb_record));
    uint32_t *first = (uint32_t *)get_block(&frames, frame / BLOCK_FRAMES, BLOCK_FRAMES * sizeof(uint32_t));
    struct nb_record *record = &block[used % BLOCK_RECORDS];

    used++;
    record->frame = frame;
    record->key = key;
    if (first[frame % BLOCK_FRAMES] == 0) {
        first[frame % BLOCK_FRAMES] = used;
    }
    return record;
}

struct nb_record *nb_record_at(uint32_t ordinal)
{
    struct nb_record *block = (struct nb_record *)records.block[ordinal / BLOCK_RECORDS];

    return &block[ordinal % BLOCK_RECORDS];
}

uint32_t nb_record_count(void)
{
    return used;
}

/* Ordinal + 1; 0 none. */
static uint32_t first_of(uint32_t frame)
{
    if (frame / BLOCK_FRAMES >= frames.count || frames.block[frame / BLOCK_FRAMES] == NULL) {
        return 0;
    }
    return ((const uint32_t *)frames.block[frame / BLOCK_FRAMES])[frame % BLOCK_FRAMES];
}

uint32_t nb_frame_of(nb_moment moment)
{
    return moment == 0 ? 0 : nb_record_at(moment - 1)->frame;
}

int64_t nb_time_of(nb_moment moment)
{
    return moment == 0 ? 0 : nb_record_at(moment - 1)->now_ns;
}

nb_moment nb_moment_of(const struct nb_record *record)
{
    nb_moment moment = first_of(record->frame);

    for (; moment != 0 && moment <= used && nb_record_at(moment - 1)->frame == record->frame; moment++) {
        if (nb_record_at(moment - 1) == record) {
            return moment;
        }
    }
    return 0; /* a read filter dropped it */
}

void nb_note_add(struct nb_record *record, struct nb_note *note)
{
    struct nb_note **last = &record->notes;

    while (*last != NULL) {
        last = &(*last)->next;
    }
    note->next = NULL;
    *last = note;
}

void nb_note(struct nb_record *record, enum nb_note_kind kind, nb_moment other)
{
    struct nb_note *note = (struct nb_note *)nb_arena_new0(sizeof(struct nb_note));

    note->kind = (uint8_t)kind;
    note->other = other;
    nb_note_add(record, note);
}

void nb_note_copy(struct nb_record *record, uint32_t frame)
{
    if (frame != 0) {
        record->facts |= NB_IS_COPY;
        nb_note(record, NB_NOTE_COPY_OF, first_of(frame));
    }
}

void nb_note_once(struct nb_record *record, enum nb_note_kind kind, nb_moment other)
{
    for (const struct nb_note *note = record->notes; note != NULL; note = note->next) {
        if (note->kind == kind) {
            return;
        }
    }
    nb_note(record, kind, other);
}

struct nb_record *nb_record_first(uint32_t frame)
{
    const uint32_t first = first_of(frame);

    return first == 0 ? NULL : nb_record_at(first - 1);
}

struct nb_record *nb_record_find(uint32_t frame, uint32_t key)
{
    const uint32_t first = first_of(frame);

    if (first == 0) {
        return NULL;
    }
    /* Nearly always the one that its index points at. */
    const uint64_t likely = (uint64_t)first - 1 + (key & 0xFFFF);
    if (likely < used && nb_record_at((uint32_t)likely)->frame == frame && nb_record_at((uint32_t)likely)->key == key) {
        return nb_record_at((uint32_t)likely);
    }
    for (uint32_t i = first - 1; i < used && nb_record_at(i)->frame == frame; i++) {
        if (nb_record_at(i)->key == key) {
            return nb_record_at(i);
        }
    }
    return NULL;
}
