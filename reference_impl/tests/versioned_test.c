/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures of programs that were compiled with an older or newer header, and the accessors of contexts and versions
 * (netblt/netblt.h). */
#include "check.h"
#include "peer.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- memory that ends where the structure of an older program ends: an access beyond is a crash ---- */

struct fenced {
    unsigned char *pages;
    size_t page_bytes;
    void *structure;
};

static struct fenced fenced_copy(const void *from, size_t bytes)
{
    struct fenced fenced = {.page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
    CHECK(bytes <= fenced.page_bytes && bytes % sizeof(void *) == 0);
    void *pages = mmap(NULL, 2 * fenced.page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    fenced.pages = pages;
    CHECK_EQUAL(mprotect(fenced.pages + fenced.page_bytes, fenced.page_bytes, PROT_NONE), 0);
    fenced.structure = fenced.pages + fenced.page_bytes - bytes;
    if (from != NULL) {
        memcpy(fenced.structure, from, bytes);
        memcpy(fenced.structure, &bytes, sizeof bytes);
    } else {
        memset(fenced.structure, 0xAA, bytes);
    }
    return fenced;
}

static void fenced_free(struct fenced *fenced)
{
    CHECK_EQUAL(munmap(fenced->pages, 2 * fenced->page_bytes), 0);
}

/* ---- netblt_config ---- */

static void an_older_config_gets_defaults_for_what_it_lacks(void)
{
    size_t older = offsetof(netblt_config, context); /* before `context` and `allocator` were added */
    struct fenced config = fenced_copy(NULL, older);
    netblt_config_default_sized(config.structure, older);
    netblt_endpoint *endpoint = netblt_endpoint_new(config.structure);
    CHECK(endpoint != NULL);
    CHECK(netblt_endpoint_get_context(endpoint) == NULL);
    netblt_endpoint_free(endpoint);
    fenced_free(&config);
}

static netblt_endpoint *endpoint_of_size(size_t size)
{
    union {
        netblt_config config;
        unsigned char bytes[sizeof(netblt_config) + 16];
    } newer;
    memset(&newer, 0, sizeof newer);
    netblt_config_default(&newer.config);
    newer.config.size = size;
    return netblt_endpoint_new(&newer.config);
}

static void a_config_without_a_size_is_an_error(void)
{
    CHECK(endpoint_of_size(0) == NULL);
    CHECK(endpoint_of_size(sizeof(size_t)) == NULL);
}

static void a_newer_config_is_usable_if_it_asks_for_nothing_new(void)
{
    netblt_endpoint *endpoint = endpoint_of_size(sizeof(netblt_config) + 16);
    CHECK(endpoint != NULL);
    netblt_endpoint_free(endpoint);
    unsigned char newer[sizeof(netblt_config) + 16];
    netblt_config_default_sized((netblt_config *)(void *)newer, sizeof newer);
    for (size_t i = sizeof(netblt_config); i < sizeof newer; i++)
        CHECK_EQUAL(newer[i], 0); /* the defaults of what this library does not know */
    newer[sizeof newer - 1] = 1;
    CHECK(netblt_endpoint_new((const netblt_config *)(const void *)newer) == NULL);
}

/* ---- netblt_open_args and netblt_client ---- */

static netblt_path path = {.local = {1, {1}}, .foreign = {1, {2}}};

static netblt_open_args args_for(struct peer *peer, const void *client)
{
    return (netblt_open_args){.size = sizeof(netblt_open_args),
                              .path = &path,
                              .local_port = 5,
                              .foreign_port = 6,
                              .role = NETBLT_RECEIVER,
                              .unique_id = 1,
                              .params = &peer->params,
                              .client = client,
                              .context = peer};
}

static void start(struct peer *peer)
{
    peer_init(peer, NETBLT_RECEIVER, false);
    peer_start(peer);
}

static void older_open_args_have_no_options(void)
{
    struct peer peer;
    netblt_connection *connection = NULL;
    start(&peer);
    netblt_open_args args = args_for(&peer, &peer_client);
    for (size_t older = offsetof(netblt_open_args, options); older <= sizeof args; older += sizeof(void *)) {
        struct fenced fenced = fenced_copy(&args, older);
        CHECK_EQUAL(netblt_open(peer.endpoint, fenced.structure, peer.now, &connection), 0);
        CHECK_EQUAL(netblt_abort(connection, "", peer.now), 0);
        fenced_free(&fenced);
    }
    args.size = offsetof(netblt_open_args, context);
    CHECK_EQUAL(netblt_open(peer.endpoint, &args, peer.now, &connection), NETBLT_ERR_INVALID_ARGUMENT);
    args.size = 0;
    CHECK_EQUAL(netblt_open(peer.endpoint, &args, peer.now, &connection), NETBLT_ERR_INVALID_ARGUMENT);
    peer_free(&peer);
}

static void an_older_client_has_fewer_callbacks(void)
{
    struct peer peer;
    netblt_connection *connection = NULL;
    start(&peer);
    size_t older = offsetof(netblt_client, opened);
    struct fenced client = fenced_copy(&peer_client, older);
    netblt_open_args args = args_for(&peer, client.structure);
    CHECK_EQUAL(netblt_open(peer.endpoint, &args, peer.now, &connection), 0);
    fenced_free(&client); /* the library has a copy */
    CHECK_EQUAL(netblt_abort(connection, "", peer.now), 0);
    CHECK_EQUAL(peer.finished, 0); /* the program does not know this callback yet */
    netblt_client without_size = peer_client;
    without_size.size = 0;
    args.client = &without_size;
    CHECK_EQUAL(netblt_open(peer.endpoint, &args, peer.now, &connection), NETBLT_ERR_INVALID_ARGUMENT);
    peer_free(&peer);
}

/* ---- netblt_info ---- */

static void an_older_info_is_filled_to_its_end(void)
{
    struct peer peer;
    netblt_connection *connection = NULL;
    start(&peer);
    netblt_open_args args = args_for(&peer, &peer_client);
    CHECK_EQUAL(netblt_open(peer.endpoint, &args, peer.now, &connection), 0);
    size_t older = offsetof(netblt_info, stats);
    struct fenced info = fenced_copy(NULL, older);
    netblt_get_info_sized(connection, info.structure, older);
    netblt_info whole;
    netblt_get_info(connection, &whole);
    CHECK_EQUAL(((netblt_info *)info.structure)->size, older);
    CHECK_EQUAL(whole.size, sizeof whole);
    CHECK_EQUAL(whole.local_port, 5);
    whole.size = older;
    CHECK_EQUAL(memcmp(info.structure, &whole, older), 0);
    fenced_free(&info);
    peer_free(&peer);
}

/* ---- contexts and version ---- */

static void contexts_can_be_read_and_replaced(void)
{
    struct peer peer, other = {0};
    netblt_config config;
    netblt_connection *connection = NULL;
    start(&peer);
    netblt_config_default(&config);
    config.context = &other;
    netblt_endpoint *endpoint = netblt_endpoint_new(&config);
    CHECK(netblt_endpoint_get_context(endpoint) == &other);
    netblt_endpoint_set_context(endpoint, &peer);
    CHECK(netblt_endpoint_get_context(endpoint) == &peer);
    netblt_open_args args = args_for(&peer, &peer_client);
    CHECK_EQUAL(netblt_open(endpoint, &args, peer.now, &connection), 0);
    CHECK(netblt_connection_get_endpoint(connection) == endpoint);
    CHECK(netblt_connection_get_context(connection) == &peer);
    netblt_connection_set_context(connection, &other);
    CHECK(netblt_connection_get_context(connection) == &other);
    CHECK_EQUAL(netblt_abort(connection, "", peer.now), 0);
    CHECK(other.closed == 1 && peer.closed == 0); /* the callbacks get the new one */
    netblt_endpoint_free(endpoint);
    peer_free(&peer);
}

static void the_version_is_that_of_the_header(void)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", NETBLT_VERSION_MAJOR, NETBLT_VERSION_MINOR, NETBLT_VERSION_PATCH);
    CHECK(strcmp(netblt_version(), text) == 0);
    CHECK_EQUAL(netblt_version_number(), NETBLT_VERSION_NUMBER);
    CHECK(strcmp(netblt_version(), PROJECT_VERSION) == 0); /* of CMake: soname, pkg-config and package */
}

int main(void)
{
    RUN(an_older_config_gets_defaults_for_what_it_lacks);
    RUN(a_config_without_a_size_is_an_error);
    RUN(a_newer_config_is_usable_if_it_asks_for_nothing_new);
    RUN(older_open_args_have_no_options);
    RUN(an_older_client_has_fewer_callbacks);
    RUN(an_older_info_is_filled_to_its_end);
    RUN(contexts_can_be_read_and_replaced);
    RUN(the_version_is_that_of_the_header);
    return 0;
}
