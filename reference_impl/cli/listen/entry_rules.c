/* SPDX-License-Identifier: BSD-2-Clause */
/* Which entries of a peer's manifest may be stored in the directory that is served: see entry_rules.h. */
#include "cli/listen/entry_rules.h"

#include <string.h>

#define TEMPORARY_PREFIX ".netblt-"

/* C0, DEL, and C1 in UTF-8. */
bool entry_has_control_character(const char *name)
{
    const unsigned char *at = (const unsigned char *)name;
    for (; *at != '\0'; at++)
        if (*at < 0x20 || *at == 0x7F || (*at == 0xC2 && at[1] >= 0x80 && at[1] <= 0x9F))
            return true;
    return false;
}

bool entry_is_temporary(const char *name)
{
    const char *part = name;
    while (part != NULL) {
        if (strncmp(part, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) == 0)
            return true;
        part = strchr(part, '/');
        part = part == NULL ? NULL : part + 1;
    }
    return false;
}

/* Directories of the transfer that `path` lies in, beyond the top one, which a target must not leave. */
static unsigned depth_of(const char *path)
{
    unsigned slashes = 0;
    for (; *path != '\0'; path++)
        slashes += *path == '/';
    return slashes > 0 ? slashes - 1 : 0;
}

/* The length of the part that `at` begins with. */
static size_t part_length(const char *at)
{
    return strcspn(at, "/");
}

static bool is_up(const char *at)
{
    return part_length(at) == 2 && at[0] == '.' && at[1] == '.';
}

static const char *next_part(const char *at)
{
    at += part_length(at);
    return at + strspn(at, "/");
}

static bool stays_inside(const char *path, const char *target)
{
    const char *at = target;
    unsigned up = 0;
    if (target[0] == '/' || target[0] == '\0')
        return false;
    for (; is_up(at); at = next_part(at))
        up++;
    for (; *at != '\0'; at = next_part(at))
        if (is_up(at))
            return false;
    return up <= depth_of(path);
}

const char *entry_check(const manifest_entry *entry)
{
    if (entry_has_control_character(entry->path))
        return "control character in name";
    if (entry_is_temporary(entry->path))
        return "a name of files that are being stored";
    if (entry->kind != ENTRY_LINK)
        return NULL;
    if (entry_has_control_character(entry->target))
        return "control character in the target of a link";
    return stays_inside(entry->path, entry->target) ? NULL : "a link that leads out of what is transferred";
}
