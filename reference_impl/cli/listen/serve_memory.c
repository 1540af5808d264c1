/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for the buffers of all transfers of `netblt listen`. */
#include "cli/listen/serve.h"
#include "cli/transfer/parameters.h"

/* Buffers of all transfers together. A new one may have a quarter of what is left, so that there is always some left
 * for the next, and never less than keeps a local network busy. */
#define MEMORY_BYTES (UINT64_C(1) << 30)
#define MEMORY_SHARE 4
#define MEMORY_LEAST_BYTES (UINT64_C(1) << 20)
/* What is promised to unvalidated peers counts up to here: forged OPENs must not leave the least to everybody else. */
#define UNVALIDATED_MAX_BYTES (MEMORY_BYTES / 2)
/* Promises that were made before others were kept can come to more than MEMORY_BYTES. */
#define VALIDATED_MAX_BYTES (2 * MEMORY_BYTES)

static uint64_t memory_left(const serve *server)
{
    uint64_t unvalidated = server->unvalidated_promised_bytes;
    uint64_t used =
        server->promised_bytes + (unvalidated < UNVALIDATED_MAX_BYTES ? unvalidated : UNVALIDATED_MAX_BYTES);
    uint64_t share = used < MEMORY_BYTES ? (MEMORY_BYTES - used) / MEMORY_SHARE : 0;
    return share < MEMORY_LEAST_BYTES ? MEMORY_LEAST_BYTES : share;
}

void served_take_memory(served *one, netblt_params *limits)
{
    serve *server = one->server;
    parameters_limit_first_buffer(server->unvalidated_first_bytes, limits);
    parameters_limit_memory(memory_left(server), limits);
    one->first_bytes = limits->buffer_size;
    one->promised_bytes = (uint64_t)limits->buffer_size * limits->max_buffers;
    server->unvalidated_first_bytes += one->first_bytes;
    server->unvalidated_promised_bytes += one->promised_bytes;
}

bool served_memory_fits(const served *one)
{
    return one->promised_bytes <= MEMORY_LEAST_BYTES ||
           one->server->promised_bytes + one->promised_bytes <= VALIDATED_MAX_BYTES;
}

void served_keep_memory(served *one)
{
    serve *server = one->server;
    server->unvalidated_first_bytes -= one->first_bytes;
    server->unvalidated_promised_bytes -= one->promised_bytes;
    server->promised_bytes += one->promised_bytes;
}

void served_give_memory_back(served *one)
{
    serve *server = one->server;
    if (one->validated) {
        server->promised_bytes -= one->promised_bytes;
    } else {
        server->unvalidated_first_bytes -= one->first_bytes;
        server->unvalidated_promised_bytes -= one->promised_bytes;
    }
}
