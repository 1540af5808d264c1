/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of paths that this user's transfers have measured: see path_list.h. */
#include "cli/path_memory/path_list.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/report/text.h"

#define FORMAT_VERSION 1
/* As --path has them (option_values.c). */
#define RATE_MIN_BPS 1e3
#define RATE_MAX_BPS 1e12
#define ROUND_TRIP_MAX_S 3600

/* ---- entries ----------------------------------------------------------------------------------------------------- */

path_key path_key_of(const netblt_address *peer, const netblt_address *local, enum netblt_role role)
{
    path_key key = {.role = role};
    netblt_address host = netblt_address_with_port(peer, 0);
    netblt_address source = netblt_address_with_port(local, 0);
    netblt_address_text(&host, key.peer);
    netblt_address_text(&source, key.local);
    return key;
}

static bool is_same(const path_key *a, const path_key *b)
{
    return a->role == b->role && strcmp(a->peer, b->peer) == 0 && strcmp(a->local, b->local) == 0;
}

static bool is_usable(const path_entry *entry, uint64_t now)
{
    return entry->measured_at <= now && now - entry->measured_at < PATH_LIFE_S;
}

static path_entry *find(path_list *all, const path_key *key)
{
    for (size_t i = 0; i < all->count; i++)
        if (is_same(&all->entries[i].key, key))
            return &all->entries[i];
    return NULL;
}

path_entry *path_list_find(path_list *all, const path_key *key, uint64_t now)
{
    path_entry *found = find(all, key);
    return found != NULL && is_usable(found, now) ? found : NULL;
}

/* A new place, or that of the entry that was not used for longest. */
static path_entry *make_room(path_list *all)
{
    path_entry *oldest = &all->entries[0];
    if (all->count < PATHS_MAX)
        return &all->entries[all->count++];
    for (size_t i = 1; i < all->count; i++)
        if (all->entries[i].used_at < oldest->used_at)
            oldest = &all->entries[i];
    return oldest;
}

void path_list_note(path_list *all, const path_entry *measured)
{
    path_entry *entry = find(all, &measured->key);
    bool raises = entry == NULL || !is_usable(entry, measured->measured_at) ||
                  measured->path.bits_per_second > entry->path.bits_per_second;
    if (entry == NULL)
        entry = make_room(all);
    if (raises || !measured->path.is_least)
        *entry = *measured;
    else
        entry->used_at = measured->used_at;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static bool read_address(json_t *from, const char *name, char to[NETBLT_ADDRESS_TEXT_BYTES])
{
    const char *text = json_string_value(json_object_get(from, name));
    if (text == NULL || *text == '\0' || strlen(text) >= NETBLT_ADDRESS_TEXT_BYTES)
        return false;
    snprintf(to, NETBLT_ADDRESS_TEXT_BYTES, "%s", text);
    return true;
}

static bool read_number(json_t *from, const char *name, double least, double most, double *to)
{
    json_t *value = json_object_get(from, name);
    *to = json_number_value(value);
    return json_is_number(value) && *to >= least && *to <= most;
}

static bool read_time(json_t *from, const char *name, uint64_t *to)
{
    json_t *value = json_object_get(from, name);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *to = (uint64_t)json_integer_value(value);
    return true;
}

static bool read_flag(json_t *from, const char *name, bool *to)
{
    json_t *value = json_object_get(from, name);
    *to = json_is_true(value);
    return json_is_boolean(value);
}

static bool read_role(json_t *from, enum netblt_role *to)
{
    const char *text = json_string_value(json_object_get(from, "role"));
    if (text == NULL)
        return false;
    *to = strcmp(text, text_role(NETBLT_SENDER)) == 0 ? NETBLT_SENDER : NETBLT_RECEIVER;
    return strcmp(text, text_role(*to)) == 0;
}

static bool read_entry(json_t *from, path_entry *entry)
{
    return read_address(from, "peer", entry->key.peer) && read_address(from, "local", entry->key.local) &&
           read_role(from, &entry->key.role) &&
           read_number(from, "bits_per_second", RATE_MIN_BPS, RATE_MAX_BPS, &entry->path.bits_per_second) &&
           read_number(from, "round_trip_s", 0, ROUND_TRIP_MAX_S, &entry->path.round_trip_s) &&
           read_flag(from, "is_least", &entry->path.is_least) && read_time(from, "measured_at", &entry->measured_at) &&
           read_time(from, "used_at", &entry->used_at);
}

static bool read_entries(path_list *all, json_t *from)
{
    size_t i;
    json_t *entry;
    if (!json_is_array(from) || json_array_size(from) > PATHS_MAX)
        return false;
    json_array_foreach(from, i, entry) if (!read_entry(entry, &all->entries[all->count++])) return false;
    return true;
}

bool path_list_read(path_list *all, const char *text, size_t length)
{
    json_error_t ignored;
    json_t *whole = json_loadb(text, length, JSON_REJECT_DUPLICATES, &ignored);
    *all = (path_list){.count = 0};
    bool is_list = json_integer_value(json_object_get(whole, "version")) == FORMAT_VERSION &&
                   read_entries(all, json_object_get(whole, "paths"));
    json_decref(whole);
    if (!is_list)
        *all = (path_list){.count = 0};
    return is_list;
}

static json_t *entry_object(const path_entry *entry)
{
    return json_pack("{s:s, s:s, s:s, s:f, s:f, s:b, s:I, s:I}", "peer", entry->key.peer, "local", entry->key.local,
                     "role", text_role(entry->key.role), "bits_per_second", entry->path.bits_per_second, "round_trip_s",
                     entry->path.round_trip_s, "is_least", (int)entry->path.is_least, "measured_at",
                     JSON_WHOLE(entry->measured_at), "used_at", JSON_WHOLE(entry->used_at));
}

char *path_list_write(const path_list *all, uint64_t now)
{
    json_t *paths = json_array();
    for (size_t i = 0; i < all->count; i++)
        if (is_usable(&all->entries[i], now))
            json_array_append_new(paths, entry_object(&all->entries[i]));
    json_t *whole = json_pack("{s:i, s:o}", "version", FORMAT_VERSION, "paths", paths);
    char *text = json_dumps(whole, JSON_INDENT(1) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
    json_decref(whole);
    return text;
}
