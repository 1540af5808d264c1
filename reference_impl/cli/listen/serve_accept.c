/* SPDX-License-Identifier: BSD-2-Clause */
/* How `netblt listen` replies to an OPEN. A forged one costs one packet, so nothing here is opened or created to
 * stay, and nothing takes longer when there are more connections. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/listen/serve.h"
#include "cli/listen/tree.h"
#include "cli/transfer/parameters.h"
#include "cli/transfer/reasons.h"
#include "io/clock.h"

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* Each returns NULL, or why not, as briefly as tree.c. */

static const char *look_at_source(served *one)
{
    const char *reason = NULL;
    struct stat status;
    if (served_is_step(one)) {
        tree_look_at_any(one->server->root, one->step.name, &status, &reason);
        return reason; /* how large it is shows when it is walked */
    }
    if (tree_look_at_file(one->server->root, one->step.name, &status, &reason) != 0)
        return reason;
    one->size = (uint64_t)status.st_size;
    return one->size > SOURCE_MAX_BYTES && !one->server->given->beyond_4g ? "over 4 GiB" : NULL;
}

static const char *look_at_target(served *one)
{
    const serve *server = one->server;
    const char *reason = NULL;
    const char *base;
    struct stat status;
    int dir;
    if (server->given->read_only)
        return "only gives files away";
    dir = served_is_step(one) ? tree_open_target(server->root, one->step.name, &base, &reason)
                              : tree_open_parent(server->root, one->step.name, server->given->force, &base, &reason);
    if (dir < 0)
        return reason;
    one->real_name = tree_real_name(server->root, dir, base, base == NULL ? "" : one->step.name);
    if (fstat(dir, &status) != 0 || status.st_nlink == 0) /* tmpfs makes files even in a directory that was removed */
        reason = "the server cannot write it";
    else if (one->real_name == NULL)
        reason = "not enough memory";
    close(dir);
    return reason;
}

/* A tree transfer may mean everything. */
static const char *check_name(served *one)
{
    if (served_is_step(one) && one->step.name[0] == '\0')
        strcpy(one->step.name, ".");
    if (served_is_step(one) && strcmp(one->step.name, ".") == 0)
        return NULL;
    return tree_check_name(one->step.name);
}

/* ---- --allow ---------------------------------------------------------------------------------------------------- */

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned rest = bits % 8;
    return memcmp(a, b, bits / 8) == 0 && (rest == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - rest) == 0);
}

static bool is_allowed(const options *given, const netblt_address *peer)
{
    for (size_t i = 0; i < given->allow_count; i++) {
        const address_prefix *prefix = &given->allow[i];
        if (netblt_address_family(&prefix->address) == netblt_address_family(peer) &&
            same_bits(prefix->address.bytes, peer->bytes, prefix->bits))
            return true;
    }
    return given->allow_count == 0;
}

/* ---- the reply -------------------------------------------------------------------------------------------------- */

static const char *find_objection(served *one)
{
    serve *server = one->server;
    const char *objection;
    if (server->net.interrupts.count > 0)
        return REASON_SHUTTING_DOWN;
    if (!is_allowed(server->given, &one->foreign))
        return "does not serve your address";
    objection = check_name(one);
    if (objection == NULL)
        objection = one->task == TASK_SEND || one->task == TASK_TAKE_HELD ? look_at_source(one) : look_at_target(one);
    return objection != NULL ? objection : serve_object(server, one);
}

/* Only peers that can do tree transfers ask for their later steps: for others it is a name. */
static void describe_task(served *one, const char *client_string)
{
    bool sends = one->work.role == NETBLT_SENDER;
    if (served_is_step(one))
        step_name_parse(client_string, &one->step);
    else
        memcpy(one->step.name, client_string, sizeof one->step.name);
    if (one->step.kind == STEP_HELD)
        one->task = sends ? TASK_SEND_HELD : TASK_TAKE_HELD;
    else
        one->task = sends ? TASK_SEND : TASK_STORE;
    one->work.in_order = one->task == TASK_TAKE_HELD;
    one->claim.memory = &one->server->lists;
    one->inbox.fd = -1;
}

static served *describe(serve *server, const netblt_request *request)
{
    served *one = calloc(1, sizeof *one);
    if (one == NULL)
        return NULL;
    one->server = server;
    one->foreign = request->path.foreign;
    one->work = (transfer){.net = &server->net,
                           .role = request->role,
                           .offers_tree = (request->client_features & NETBLT_CLIENT_TREE) != 0,
                           .name = one->printable,
                           .peer = one->peer,
                           .started_at = netblt_clock_now()};
    describe_task(one, request->proposed.client_string);
    return one;
}

static void promise(served *one, const netblt_request *request, netblt_answer *answer)
{
    serve *server = one->server;
    parameters_limit(server->given, one->work.role, &request->path, one->size, &answer->limits);
    if (one->work.role == NETBLT_RECEIVER)
        parameters_limit_unpaced(netblt_link_receive_buffer_bytes(server->net.link), &answer->limits);
    served_take_memory(one, &answer->limits);
    answer->accept = true;
    answer->client = &server->client;
    answer->context = &one->work;
    answer->options = transfer_options(&one->work);
    LIST_INSERT_HEAD(&server->unvalidated, one, place);
}

void serve_accept(void *context, const netblt_request *request, netblt_answer *answer)
{
    serve *server = context;
    served *one = describe(server, request);
    const char *objection = one == NULL ? "not enough memory" : find_objection(one);
    served *ended;
    while (objection != NULL && one != NULL && (ended = serve_find_ended(server, one)) != NULL) {
        served_settle(ended); /* this is its next step */
        objection = serve_object(server, one);
    }
    if (objection == NULL) {
        promise(one, request, answer);
        return;
    }
    answer->accept = false;
    answer->silent = one != NULL && serve_lets_wait(server, one); /* its OPEN is retransmitted */
    snprintf(answer->reason, sizeof answer->reason, "%s", objection);
    if (one != NULL && !answer->silent)
        serve_report_refusal(server, one, objection);
    if (one != NULL)
        free(one->real_name);
    free(one);
}
