/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds the memory of the analysis and the reports. */
#include "wireshark/memory.h"

const struct nb_quota nb_quota_analysis = {.per_connection = 12000, .per_packet = 160};
const struct nb_quota nb_quota_report = {.per_connection = 4000, .per_packet = 20};

/* Enough for a transfer of 1.5 million packets with one in each buffer; a fraction of what tshark may take. */
guint nb_memory_limit_mib = 256;

static uint64_t pooled; /* bytes taken from the pool */
static uint32_t file;   /* counts the files that were opened */

static struct nb_account *current; /* NULL: no packet is being analysed */
static uint32_t current_frame;

static void start_file(void)
{
    pooled = 0;
    file++;
    current = NULL;
}

void nb_register_memory(void)
{
    register_init_routine(start_file);
}

static uint64_t pool_bytes(void)
{
    return (uint64_t)nb_memory_limit_mib << 20;
}

static uint64_t quota_of(const struct nb_account *account)
{
    return account->quota->per_connection + (uint64_t)account->quota->per_packet * account->packets;
}

/* What the account needs of the pool with so many bytes in use. */
static uint64_t beyond_quota(const struct nb_account *account, uint64_t used)
{
    const uint64_t quota = quota_of(account);

    return used > quota ? used - quota : 0;
}

static void settle(struct nb_account *account)
{
    const uint64_t needed = beyond_quota(account, account->used);

    if (account->file == file) {
        pooled += needed;
        pooled -= account->pooled;
        account->pooled = needed;
    }
}

void nb_account_open(struct nb_account *account, const struct nb_quota *quota, size_t bytes)
{
    *account = (struct nb_account){.quota = quota, .used = bytes, .file = file};
    settle(account);
}

void nb_account_close(struct nb_account *account)
{
    if (account->file == file) {
        pooled -= account->pooled;
    }
    account->pooled = 0;
}

void nb_account_packet(struct nb_account *account)
{
    account->packets++;
    settle(account);
}

void nb_account_take(struct nb_account *account, size_t bytes)
{
    account->used += bytes;
    settle(account);
}

static void give(struct nb_account *account, size_t bytes)
{
    account->used -= MIN(account->used, bytes);
    settle(account);
}

static bool allows(const struct nb_account *account, size_t bytes)
{
    const uint64_t needed = beyond_quota(account, account->used + bytes);
    const uint64_t of_others = account->file == file ? pooled - account->pooled : pooled;

    return needed == 0 || of_others + needed <= pool_bytes();
}

static bool ask(struct nb_account *account, size_t bytes, uint32_t frame)
{
    if (account->exhausted_frame == 0 && allows(account, bytes)) {
        return true;
    }
    if (account->exhausted_frame == 0) {
        account->exhausted_frame = frame;
    }
    return false;
}

void nb_memory_begin(struct nb_account *account, uint32_t frame)
{
    current = account;
    current_frame = frame;
}

void nb_memory_end(void)
{
    current = NULL;
}

bool nb_memory_allows(size_t bytes)
{
    return current == NULL || allows(current, bytes);
}

bool nb_memory_ask(size_t bytes)
{
    return current == NULL || ask(current, bytes, current_frame);
}

void nb_memory_take(size_t bytes)
{
    if (current != NULL) {
        nb_account_take(current, bytes);
    }
}

void *nb_file_new(size_t bytes)
{
    nb_memory_take(bytes);
    return wmem_alloc(wmem_file_scope(), bytes);
}

void *nb_file_new0(size_t bytes)
{
    nb_memory_take(bytes);
    return wmem_alloc0(wmem_file_scope(), bytes);
}

void *nb_file_realloc(void *memory, size_t before, size_t bytes)
{
    nb_memory_take(bytes - before);
    return wmem_realloc(wmem_file_scope(), memory, bytes);
}

void nb_file_free(void *memory, size_t bytes)
{
    if (memory != NULL && current != NULL) {
        give(current, bytes);
    }
    wmem_free(wmem_file_scope(), memory);
}

char *nb_file_vprintf(const char *format, va_list arguments)
{
    char *text = wmem_strdup_vprintf(wmem_file_scope(), format, arguments);

    nb_memory_take(strlen(text) + 1);
    return text;
}

char *nb_file_printf(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    char *text = nb_file_vprintf(format, arguments);
    va_end(arguments);
    return text;
}
