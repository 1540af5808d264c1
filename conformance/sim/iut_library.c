/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An implementation under test as a shared library that is loaded at run time. */
#include "iut_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every function of the ABI, once: the table's members and the names to look up. */
#define FUNCTIONS(F)                                                                                                   \
    F(abi_version)                                                                                                     \
    F(start)                                                                                                           \
    F(free)                                                                                                            \
    F(packet)                                                                                                          \
    F(advance)                                                                                                         \
    F(output)                                                                                                          \
    F(deadline)                                                                                                        \
    F(get_status)                                                                                                      \
    F(reason)                                                                                                          \
    F(delivered)                                                                                                       \
    F(peer_string)                                                                                                     \
    F(stop)

struct iut_library {
    void *handle;
    size_t users; /* the opener, and every instance: the code stays until the last has left */
#define MEMBER(name) __typeof__(&netblt_iut_##name) name;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

struct iut {
    iut_library *library;
    netblt_iut *instance;
    uint8_t local_address[4];
};

/* POSIX gives functions as object pointers; copying the bits is the way round C's objection. */
static bool look_up(void *handle, const char *name, void *function, char *error, size_t error_capacity)
{
    void *symbol = dlsym(handle, name);
    if (!symbol) {
        snprintf(error, error_capacity, "the library has no function %s, which conformance/sim/netblt_iut.h asks for",
                 name);
        return false;
    }
    memcpy(function, &symbol, sizeof symbol);
    return true;
}

static bool load_functions(iut_library *library, char *error, size_t error_capacity)
{
#define LOOK_UP(name)                                                                                                  \
    if (!look_up(library->handle, "netblt_iut_" #name, &library->name, error, error_capacity))                         \
        return false;
    FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    uint32_t version = library->abi_version();
    if (version != NETBLT_IUT_ABI_VERSION) {
        snprintf(error, error_capacity, "the library speaks version %u of netblt_iut.h, this program version %u",
                 version, NETBLT_IUT_ABI_VERSION);
        return false;
    }
    return true;
}

iut_library *iut_library_open(const char *path, char *error, size_t error_capacity)
{
    iut_library *library = calloc(1, sizeof *library);
    if (!library) {
        snprintf(error, error_capacity, "no memory");
        return NULL;
    }
    library->users = 1;
    library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle) {
        snprintf(error, error_capacity, "%s", dlerror());
        free(library);
        return NULL;
    }
    char problem[256];
    if (!load_functions(library, problem, sizeof problem)) {
        snprintf(error, error_capacity, "%s: %s", path, problem);
        iut_library_close(library);
        return NULL;
    }
    return library;
}

void iut_library_close(iut_library *library)
{
    if (library && --library->users == 0) {
        dlclose(library->handle);
        free(library);
    }
}

iut *iut_start(iut_library *library, const netblt_iut_params *params, const uint8_t *data, size_t length,
               uint64_t now_us, char *error, size_t error_capacity)
{
    iut *started = calloc(1, sizeof *started);
    if (!started) {
        snprintf(error, error_capacity, "no memory");
        return NULL;
    }
    snprintf(error, error_capacity, "the implementation gave no reason");
    started->library = library;
    memcpy(started->local_address, params->local_address, sizeof started->local_address);
    started->instance = library->start(params, data, length, now_us, error, error_capacity);
    if (!started->instance) {
        free(started);
        return NULL;
    }
    library->users++;
    return started;
}

void iut_free(iut *end)
{
    if (end) {
        end->library->free(end->instance);
        iut_library_close(end->library);
        free(end);
    }
}

void iut_packet(iut *end, const uint8_t source[4], const uint8_t *packet, size_t length, uint64_t now_us)
{
    end->library->packet(end->instance, source, packet, length, now_us);
}

void iut_advance(iut *end, uint64_t now_us)
{
    end->library->advance(end->instance, now_us);
}

size_t iut_output(iut *end, uint64_t now_us, uint8_t destination[4], uint8_t *packet, size_t capacity)
{
    return end->library->output(end->instance, now_us, destination, packet, capacity);
}

uint64_t iut_deadline(const iut *end)
{
    return end->library->deadline(end->instance);
}

int iut_status(const iut *end)
{
    return end->library->get_status(end->instance);
}

const char *iut_reason(const iut *end)
{
    return end->library->reason(end->instance);
}

const uint8_t *iut_delivered(const iut *end, size_t *length)
{
    *length = 0;
    return end->library->delivered(end->instance, length);
}

const char *iut_peer_string(const iut *end)
{
    return end->library->peer_string(end->instance);
}

int iut_stop(iut *end, int abort, const char *reason, uint64_t now_us)
{
    return end->library->stop(end->instance, abort, reason, now_us);
}

const uint8_t *iut_local_address(const iut *end)
{
    return end->local_address;
}
