/* SPDX-License-Identifier: BSD-2-Clause */
/* What earlier transfers have shown of the path to the peer: see path_memory.h. */
#include "cli/path_memory/path_memory.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/path_memory/path_file.h"
#include "cli/report/report.h"
#include "io/privileges.h"

static uint64_t seconds_now(void)
{
    time_t now = time(NULL);
    return now < 0 ? 0 : (uint64_t)now;
}

static bool is_wanted(const options *given)
{
    const char *off = getenv(PATH_MEMORY_OFF_VARIABLE);
    return !given->passive && given->path_memory && given->rate == NETBLT_RATE_AUTO && (off == NULL || *off == '\0');
}

static void read_file(path_memory *memory)
{
    path_list all;
    const path_entry *found;
    if (path_file_read(memory->directory, &all) == PATH_FILE_DAMAGED)
        report_note("the file " PATH_FILE_NAME " of remembered paths is damaged: it is not used and will be replaced");
    found = path_list_find(&all, &memory->entry.key, seconds_now());
    if (found == NULL)
        return;
    memory->entry = *found;
    memory->is_known = true;
}

void path_memory_open(path_memory *memory, const options *given, const netblt_address *peer,
                      const netblt_address *local)
{
    const char *ignored;
    *memory = (path_memory){.directory = -1, .entry = {.key = path_key_of(peer, local, given->role)}};
    if (!is_wanted(given))
        return;
    netblt_privileges_set_effective(false);
    memory->directory = path_file_open_directory(&ignored);
    if (memory->directory >= 0)
        read_file(memory);
    netblt_privileges_set_effective(true);
}

void path_memory_close(path_memory *memory)
{
    if (memory->directory >= 0)
        close(memory->directory);
    memory->directory = -1;
}

void path_memory_note(path_memory *memory, const known_path *measured)
{
    path_entry noted = {.key = memory->entry.key, .path = *measured, .measured_at = seconds_now()};
    path_list one = {.count = memory->is_known};
    if (memory->directory < 0)
        return;
    noted.used_at = noted.measured_at;
    one.entries[0] = memory->entry;
    path_list_note(&one, &noted);
    memory->entry = one.entries[0];
    memory->is_known = true;
    (void)path_file_note(memory->directory, &noted); /* without it the next transfer begins as the first */
}

void path_memory_distrust(path_memory *memory)
{
    memory->is_known = false;
}

const known_path *path_memory_for(const path_memory *memory, const options *given)
{
    return memory->is_known && !given->path.given ? &memory->entry.path : NULL;
}
