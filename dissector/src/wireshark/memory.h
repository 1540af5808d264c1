/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds the memory that the analysis and the reports take, by the packets and connections of the capture.
 *
 * Numbers in packets are claims: a forged buffer or packet number must not cost more than the packet that carries it.
 * So each connection has an account. It may hold a quota that grows with its packets; what it needs beyond comes from
 * one pool that all connections and reports of the file share (preference netblt.memory_limit, MiB). When the pool is
 * empty, a connection that needs more is given up: its packets are still shown, and judged no more. */
#ifndef NETBLT_MEMORY_H
#define NETBLT_MEMORY_H

#include "wireshark/compat.h"

/* Bytes that one holder may take without the pool. Together with two reports (check requires both) this makes 20 KB
 * for a connection and 200 bytes for a packet. */
struct nb_quota {
    uint32_t per_connection;
    uint32_t per_packet;
};

extern const struct nb_quota nb_quota_analysis;
extern const struct nb_quota nb_quota_report; /* of one connection in one report */

struct nb_account {
    const struct nb_quota *quota;
    uint64_t used;            /* bytes */
    uint64_t pooled;          /* of these, taken from the pool */
    uint32_t packets;         /* that count for the quota */
    uint32_t exhausted_frame; /* the first packet for which there was no memory; 0: none so far */
    uint32_t file;            /* which file's pool it takes from */
};

/* Mebibytes in the pool; the preference. */
extern guint nb_memory_limit_mib;

/* To be called once when the protocol is registered. */
void nb_register_memory(void);

/* `bytes`: what the connection itself takes. */
void nb_account_open(struct nb_account *account, const struct nb_quota *quota, size_t bytes);

/* Gives back to the pool what was taken from it; nothing when another file was opened since. */
void nb_account_close(struct nb_account *account);

/* One more packet of the connection, in this frame. */
void nb_account_packet(struct nb_account *account);

/* Takes the bytes, whatever is left. */
void nb_account_take(struct nb_account *account, size_t bytes);

/* The analysis of a packet begins: until nb_memory_end, nb_file_* and nb_arena_new0 take from this account. */
void nb_memory_begin(struct nb_account *account, uint32_t frame);
void nb_memory_end(void);

/* There is memory for so many bytes more in the account that nb_memory_begin named; true when there is none. When there
 * is no memory, the second makes the account exhausted in this frame. */
bool nb_memory_allows(size_t bytes);
bool nb_memory_ask(size_t bytes);

/* Takes the bytes for memory that is allocated elsewhere. */
void nb_memory_take(size_t bytes);

/* What an entry of a wmem_map takes, with its share of the table. */
enum { NB_MAP_ENTRY_BYTES = 48 };

/* Memory in file scope, taken from the account. nb_file_free and nb_file_realloc get what the memory took. */
void *nb_file_new(size_t bytes);
void *nb_file_new0(size_t bytes);
void *nb_file_realloc(void *memory, size_t before, size_t bytes);
void nb_file_free(void *memory, size_t bytes);
char *nb_file_printf(const char *format, ...) G_GNUC_PRINTF(1, 2);
char *nb_file_vprintf(const char *format, va_list arguments) G_GNUC_PRINTF(1, 0);

#endif
