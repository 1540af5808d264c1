/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules for entries of a manifest (docs/tree-transfer.md, "Formats"): see manifest.h. Entries are in order, so that
 * each is compared with the one before it only. */
#include "cli/tree/manifest.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* What Linux file systems take. */
#define PATH_MAX_BYTES 4095
#define PART_MAX_BYTES 255
#define MODE_BITS 07777
#define NANOSECONDS UINT32_C(1000000000)
/* So that no sum of sizes and hashes overflows. */
#define SIZES_MAX (UINT64_C(1) << 62)

const char *manifest_check_path(const char *path)
{
    const char *part = path;
    if (strlen(path) > PATH_MAX_BYTES)
        return "the path is too long";
    for (;;) {
        size_t length = strcspn(part, "/");
        if (length == 0)
            return "the path is empty, absolute, or has an empty part";
        if (length > PART_MAX_BYTES)
            return "a part of the path is too long";
        if (part[0] == '.' && (length == 1 || (length == 2 && part[1] == '.')))
            return "a part of the path is . or ..";
        if (part[length] == '\0')
            return NULL;
        part += length + 1;
    }
}

/* The end of a path comes before '/', and '/' before all other bytes. */
static int rank(char byte)
{
    return byte == '\0' ? 0 : byte == '/' ? 1 : (unsigned char)byte + 1;
}

int manifest_compare_paths(const char *one, const char *other)
{
    while (*one != '\0' && *one == *other) {
        one++;
        other++;
    }
    return rank(*one) - rank(*other);
}

/* Whether the directory of `path` is an entry. All entries between it and `path` lie beneath it, and with the one just
 * before `path` so do the directories of that. */
static bool is_in_directory(const manifest_entry *before, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - path);
    if (length == 0)
        return true;
    if (before == NULL || strncmp(before->path, path, length) != 0)
        return false;
    return before->path[length] == '/' || (before->path[length] == '\0' && before->kind == ENTRY_DIRECTORY);
}

static const char *check_holes(const manifest_entry *entry)
{
    uint64_t pieces = manifest_pieces(entry->size);
    uint64_t least = 0; /* where the next one may begin */
    for (uint32_t i = 0; i < entry->hole_count; i++) {
        const hole *here = &entry->holes[i];
        if (here->first < least || here->first >= pieces || here->count == 0 || here->count > pieces - here->first)
            return "a hole is out of place";
        least = here->first + here->count + 1;
    }
    return NULL;
}

static const char *check_entry(const manifest_entry *entry, const manifest_entry *before)
{
    const char *wrong = manifest_check_path(entry->path);
    if (wrong != NULL)
        return wrong;
    if (before != NULL && manifest_compare_paths(before->path, entry->path) >= 0)
        return "it comes twice or is not in its order";
    if (!is_in_directory(before, entry->path))
        return "its directory is missing";
    if (entry->mode > MODE_BITS || entry->mtime_ns >= NANOSECONDS)
        return "its mode or time is out of range";
    if (entry->kind == ENTRY_LINK && (entry->target[0] == '\0' || strlen(entry->target) > PATH_MAX_BYTES))
        return "the link's target is empty or too long";
    if (entry->kind == ENTRY_FILE)
        return entry->size >= SIZES_MAX ? "it is too large" : check_holes(entry);
    return entry->kind == ENTRY_LINK || entry->kind == ENTRY_DIRECTORY ? NULL : "its kind is unknown";
}

int manifest_check(const manifest *all, netblt_failure *failure)
{
    uint64_t sizes = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const manifest_entry *entry = &all->entries[i];
        const char *wrong = check_entry(entry, i == 0 ? NULL : entry - 1);
        sizes += wrong == NULL ? entry->size : 0;
        if (wrong == NULL && sizes >= SIZES_MAX)
            wrong = "all files together are too large";
        if (wrong != NULL)
            return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot transfer %s: %s", entry->path, wrong);
    }
    return 0;
}
