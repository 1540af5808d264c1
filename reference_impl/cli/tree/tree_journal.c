/* SPDX-License-Identifier: BSD-2-Clause */
/* The journal of a partial directory: see tree_journal.h. */
#include "cli/tree/tree_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tree/tree_disk.h"

#define JOURNAL_NAME "journal"
#define NEW_NAME "new"
#define BATCH_RECORDS 256

enum record_kind { RECORD_BOOT = 1, RECORD_SUBTREE = 2, RECORD_MARK = 3, RECORD_FORGET = 4 };

#define CHECK_BYTES 4

/* As it is on disk. */
typedef struct record {
    uint8_t check[CHECK_BYTES]; /* the first bytes of the BLAKE3 of the rest */
    uint8_t kind;
    uint8_t level;
    uint8_t unused[2];
    tree_key key;   /* RECORD_BOOT: the boot ID */
    uint64_t index; /* RECORD_MARK: a length */
    uint8_t hash[PIECE_HASH_BYTES];
} record;

_Static_assert(sizeof(record) == 64, "a record has 64 bytes");

struct tree_journal {
    int dir;
    int fd;
    int error; /* of a write: what follows a torn record counts for nothing */
    size_t used;
    record batch[BATCH_RECORDS];
};

static void make_check(const record *one, uint8_t check[CHECK_BYTES])
{
    uint8_t hash[PIECE_HASH_BYTES];
    blake3_of((const uint8_t *)one + CHECK_BYTES, sizeof *one - CHECK_BYTES, hash);
    memcpy(check, hash, CHECK_BYTES);
}

/* ---- the boot -------------------------------------------------------------------------------------------------- */

static tree_key this_boot;
static bool boot_is_known;

/* Where it cannot be read each process counts as a boot of its own: too much is read again, and nothing believed that
 * should not be. */
void tree_journal_prepare(void)
{
    char text[64] = "";
    uint8_t hash[PIECE_HASH_BYTES];
    int fd = boot_is_known ? -1 : open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text);
    if (fd >= 0)
        close(fd);
    if (boot_is_known)
        return;
    boot_is_known = true;
    if (length <= 0)
        length = getrandom(text, sizeof text, 0);
    blake3_of(text, length > 0 ? (size_t)length : sizeof text, hash);
    memcpy(this_boot.bytes, hash, sizeof this_boot.bytes);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

typedef struct scan {
    int fd;
    uint64_t offset; /* of the next record */
    size_t at, count;
    record batch[BATCH_RECORDS];
} scan;

/* The next record. NULL: there is none, or it is damaged. */
static const record *next_record(scan *from)
{
    uint8_t check[CHECK_BYTES];
    if (from->at == from->count) {
        ssize_t got = pread(from->fd, from->batch, sizeof from->batch, (off_t)from->offset);
        from->at = 0;
        from->count = got < 0 ? 0 : (size_t)got / sizeof(record);
        if (from->count == 0)
            return NULL;
    }
    make_check(&from->batch[from->at], check);
    if (memcmp(check, from->batch[from->at].check, CHECK_BYTES) != 0)
        return NULL;
    from->offset += sizeof(record);
    return &from->batch[from->at++];
}

static void rewind_scan(scan *from)
{
    from->offset = 0;
    from->at = 0;
    from->count = 0;
}

/* The length of the journal of which everything is certain. */
static uint64_t find_certain(scan *from)
{
    uint64_t certain = 0;
    const record *next = next_record(from);
    bool same_boot = next != NULL && next->kind == RECORD_BOOT &&
                     memcmp(next->key.bytes, this_boot.bytes, sizeof this_boot.bytes) == 0;
    if (same_boot)
        return UINT64_MAX;
    for (; next != NULL; next = next_record(from))
        if (next->kind == RECORD_MARK && next->index > certain)
            certain = next->index;
    return certain;
}

static void pass_on(const record *next, bool certain, const tree_journal_reader *to)
{
    subtree known = {.level = next->level, .index = next->index};
    memcpy(known.hash, next->hash, sizeof known.hash);
    if (next->kind == RECORD_SUBTREE)
        to->known(to->context, &next->key, &known, certain);
    else if (next->kind == RECORD_FORGET)
        to->forget(to->context, &next->key);
}

int tree_journal_read(int dir, const tree_journal_reader *to)
{
    int fd = openat(dir, JOURNAL_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    scan *from = fd < 0 ? NULL : calloc(1, sizeof *from);
    const record *next;
    uint64_t certain;
    int error = fd < 0 ? errno : ENOMEM;
    if (fd < 0)
        return error == ENOENT ? 0 : error;
    if (from != NULL) {
        from->fd = fd;
        certain = find_certain(from);
        rewind_scan(from);
        while ((next = next_record(from)) != NULL)
            pass_on(next, from->offset <= certain, to);
        error = 0;
    }
    free(from);
    close(fd);
    return error;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

int tree_journal_flush(tree_journal *journal)
{
    size_t length = journal->used * sizeof(record);
    if (journal->error == 0 && length > 0)
        journal->error = tree_disk_append(journal->fd, journal->batch, length);
    journal->used = 0;
    return journal->error;
}

static int add(tree_journal *journal, const record *wanted)
{
    record *next = &journal->batch[journal->used++];
    *next = *wanted;
    make_check(next, next->check);
    return journal->used == BATCH_RECORDS ? tree_journal_flush(journal) : journal->error;
}

int tree_journal_add(tree_journal *journal, const tree_key *key, const subtree *known)
{
    record next = {.kind = RECORD_SUBTREE, .level = known->level, .key = *key, .index = known->index};
    memcpy(next.hash, known->hash, sizeof next.hash);
    return add(journal, &next);
}

int tree_journal_forget(tree_journal *journal, const tree_key *key)
{
    return add(journal, &(record){.kind = RECORD_FORGET, .key = *key});
}

uint64_t tree_journal_length(const tree_journal *journal)
{
    struct stat status;
    return fstat(journal->fd, &status) == 0 ? (uint64_t)status.st_size : 0;
}

/* A file opened to append takes each write at its end, whichever process writes. */
int tree_journal_mark(tree_journal *journal, uint64_t length)
{
    record mark = {.kind = RECORD_MARK, .index = length};
    int error;
    make_check(&mark, mark.check);
    error = tree_disk_append(journal->fd, &mark, sizeof mark);
    return error == 0 && fdatasync(journal->fd) != 0 ? errno : error;
}

tree_journal *tree_journal_begin(int dir)
{
    tree_journal *journal = calloc(1, sizeof *journal);
    int error;
    if (journal == NULL)
        return NULL;
    tree_journal_prepare();
    unlinkat(dir, NEW_NAME, 0);
    *journal = (tree_journal){.dir = dir};
    journal->fd = openat(dir, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (journal->fd >= 0 && add(journal, &(record){.kind = RECORD_BOOT, .key = this_boot}) == 0)
        return journal;
    error = errno;
    tree_journal_free(journal);
    errno = error;
    return NULL;
}

void tree_journal_free(tree_journal *journal)
{
    if (journal == NULL)
        return;
    if (journal->fd >= 0)
        close(journal->fd);
    free(journal);
}

int tree_journal_replace(tree_journal *journal)
{
    bool is_first = faccessat(journal->dir, JOURNAL_NAME, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    int error = tree_journal_flush(journal);
    if (error == 0 && !is_first)
        error = tree_journal_mark(journal, tree_journal_length(journal));
    if (error == 0 && renameat(journal->dir, NEW_NAME, journal->dir, JOURNAL_NAME) != 0)
        error = errno;
    if (error == 0 && !is_first && fsync(journal->dir) != 0 && errno != EINVAL)
        error = errno;
    return error;
}
