/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint under test with the models of its connections: see station.h. */
#include "station.h"

#include <string.h>

/* A late copy of an OPEN may wander about for so long. */
#define WANDERING_MAX_US UINT64_C(120000000)
#define DRAIN_RUNS_MAX 100 /* unpaced data has no end */

/* ---- listening ------------------------------------------------------------------------------------------------- */

static bool was_transferred(const struct station *station, uint8_t host, uint16_t foreign_port, uint32_t unique_id)
{
    for (size_t i = 0; i < STATION_CLOSED_MAX; i++) {
        const struct closed_transfer *at = &station->closed[i];
        if (at->number != 0 && at->host == host && at->foreign_port == foreign_port && at->unique_id == unique_id &&
            station->now < at->at + WANDERING_MAX_US && station->passive_closed - at->number < STATION_CLOSED_MAX)
            return true;
    }
    return false;
}

static void fill_answer(struct station *station, netblt_answer *answer)
{
    static const netblt_client unable = {.size = sizeof unable};
    answer->accept = station->policy == POLICY_ACCEPT || station->policy >= POLICY_BAD_LIMITS;
    answer->silent = station->policy == POLICY_IGNORE;
    answer->limits = station->limits;
    answer->client = station->policy == POLICY_BAD_CLIENT ? &unable : &model_client;
    answer->options = station->options;
    if (station->policy == POLICY_BAD_LIMITS)
        answer->limits.burst_size = 0;
    for (size_t i = 0; station->policy == POLICY_REFUSE_AT_LENGTH && i + 3 < sizeof answer->reason; i += 2)
        memcpy(answer->reason + i, "\xC3\xA9", 3); /* UTF-8 of two bytes each */
}

static void accept_request(void *context, const netblt_request *request, netblt_answer *answer)
{
    struct station *station = context;
    struct model *model = station->arriving_from;
    station->callbacks++;
    FUZZ_CHECK(model != NULL && station->arriving->type == OPEN && request->local_port == STATION_PORT);
    FUZZ_CHECK(!was_transferred(station, model->host, request->foreign_port, station->arriving->unique_id));
    if (model->connection != NULL)
        return;
    fill_answer(station, answer);
    answer->context = model;
    if (!answer->accept)
        return;
    bool reopened = model->begun && model->passive && model->foreign_port == request->foreign_port &&
                    model->info.unique_id == station->arriving->unique_id;
    model_begin(model, true);
    model->reopened = reopened;
    model->foreign_port = request->foreign_port;
    model->credit_bytes = station->limits_unvalidated.factor * station->arriving->length;
}

void station_listen(struct station *station)
{
    int error = netblt_listen(station->endpoint, STATION_PORT, accept_request, station);
    FUZZ_CHECK(error == 0 || (error == NETBLT_ERR_NO_MEMORY && station->memory_was_short));
    if (error == 0)
        error = netblt_listen(station->endpoint, STATION_PORT, accept_request, station);
    FUZZ_CHECK(error != 0);
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

static void observe(void *context, const netblt_event *event)
{
    struct station *station = context;
    netblt_info info;
    FUZZ_CHECK(event->at <= station->now);
    if (event->connection != NULL)
        netblt_get_info(event->connection, &info);
    if (event->kind == NETBLT_EVENT_PACKET_RECEIVED)
        FUZZ_CHECK(station->arriving != NULL && station->arriving->header_good);
    if (event->kind == NETBLT_EVENT_RATE)
        FUZZ_CHECK(event->rate.burst_size > 0);
    if (event->kind == NETBLT_EVENT_TIMER_SET)
        FUZZ_CHECK(event->timer.until != NETBLT_TIME_NEVER);
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

void station_start(struct station *station, netblt_time now)
{
    station->now = now;
    station->config.event = station->observed ? observe : NULL;
    station->config.event_context = station;
    if (station->config.profile == NULL)
        station->config.profile = &netblt_profile_default;
    station->endpoint = netblt_endpoint_new(&station->config);
    FUZZ_CHECK(station->endpoint != NULL);
    station->replies = station->bytes_sent = (struct unvalidated_allowance){.last_at = now};
    unvalidated_limits_of(&station->config, &station->limits_unvalidated);
    station_listen(station);
}

void station_free(struct station *station)
{
    netblt_endpoint_free(station->endpoint);
    for (size_t i = 0; i < STATION_HOSTS_MAX; i++)
        model_free(&station->hosts[i]);
}

void station_add_host(struct station *station, unsigned host, uint8_t address, uint16_t port, uint8_t salt)
{
    station->hosts[host] = (struct model){
        .station = station, .host = address, .local_port = STATION_PORT, .foreign_port = port, .salt = salt};
}

netblt_path station_path(const struct station *station, const struct model *model)
{
    return (netblt_path){.local = {1, {station->address}}, .foreign = {1, {model->host}}};
}

static void settle(struct station *station)
{
    for (size_t i = 0; i < STATION_HOSTS_MAX; i++)
        model_settle(&station->hosts[i]);
}

/* ---- input ----------------------------------------------------------------------------------------------------- */

/* All that a client can see of the endpoint, but for the counters of damaged packets. */
struct appearance {
    uint64_t callbacks;
    netblt_time deadline;
    netblt_info infos[STATION_HOSTS_MAX];
};

static void look_at(const struct station *station, struct appearance *seen)
{
    memset(seen, 0, sizeof *seen);
    seen->callbacks = station->callbacks;
    seen->deadline = netblt_deadline(station->endpoint);
    if (seen->deadline < station->now)
        seen->deadline = station->now;
    for (size_t i = 0; i < STATION_HOSTS_MAX; i++) {
        if (station->hosts[i].connection == NULL)
            continue;
        netblt_get_info(station->hosts[i].connection, &seen->infos[i]);
        seen->infos[i].stats.checksum_errors = seen->infos[i].stats.malformed = 0;
    }
}

static bool same_info(const netblt_info *a, const netblt_info *b)
{
    return a->state == b->state && a->unvalidated == b->unvalidated && a->burst_size == b->burst_size &&
           a->burst_interval_ms == b->burst_interval_ms && memcmp(&a->stats, &b->stats, sizeof a->stats) == 0;
}

/* A packet that is damaged or cannot be read changes nothing that can be seen (CKSUM-06). */
static void input_of_damaged(struct station *station, const netblt_path *path, const uint8_t *packet, size_t size)
{
    struct appearance before, after;
    look_at(station, &before);
    FUZZ_CHECK(netblt_input(station->endpoint, path, packet, size, size, station->now) < 0);
    look_at(station, &after);
    FUZZ_CHECK(before.callbacks == after.callbacks && before.deadline == after.deadline);
    for (size_t i = 0; i < STATION_HOSTS_MAX; i++)
        FUZZ_CHECK(same_info(&before.infos[i], &after.infos[i]));
}

static bool version_is_refused(const struct station *station, unsigned version)
{
    return version < 64 && (station->config.refused_versions >> version & 1) != 0;
}

static uint32_t unique_id_of(const struct model *model)
{
    netblt_info info;
    netblt_get_info(model->connection, &info);
    return info.unique_id;
}

static void arrives(struct model *model, const struct view *view)
{
    struct station *station = model->station;
    if (view->type == OPEN && view->length > model->longest_open_bytes)
        model->longest_open_bytes = view->length;
    if (model->connection == NULL || view->from_port != model->foreign_port || view->to_port != model->local_port)
        return;
    if (model->is_open)
        model->valid_at = station->now;
    model->credit_bytes += station->limits_unvalidated.factor * view->length;
    if (view->type == QUIT || view->type == ABORT || view->type == REFUSED)
        guarded_end_arrives(&model->ends, view, unique_id_of(model), station->now);
    if (model->is_open && model->info.role == NETBLT_SENDER)
        sender_arrives(model, view);
    else if (model->is_open)
        receiver_arrives(model, view);
}

void station_input(struct station *station, struct model *model, const uint8_t *packet, size_t size)
{
    uint8_t *exact = fuzz_malloc(size);
    netblt_path path = station_path(station, model);
    struct view view;
    if (size > 0)
        memcpy(exact, packet, size);
    view_read(&view, exact, size);
    if (!view.header_good || version_is_refused(station, view.version)) {
        input_of_damaged(station, &path, exact, size);
    } else {
        arrives(model, &view);
        station->arriving = &view;
        station->arriving_from = model;
        FUZZ_CHECK(netblt_input(station->endpoint, &path, exact, size, size, station->now) == 0);
        station->arriving = NULL;
        station->arriving_from = NULL;
    }
    free(exact);
    settle(station);
}

/* ---- output ---------------------------------------------------------------------------------------------------- */

static bool is_stateless(const struct model *model, const struct view *view)
{
    bool last_word = view->type == ABORT || view->type == REFUSED || view->type == DONE || view->type == QUIT;
    bool has_none = model->connection == NULL || model->earlier_words_wait;
    return last_word && (has_none || view->type == ABORT || view->type == REFUSED);
}

static void check_reflection(struct model *model, const struct view *view)
{
    struct station *station = model->station;
    const struct unvalidated_limits *limits = &station->limits_unvalidated;
    if (view->type == REFUSED)
        FUZZ_CHECK(view->size + limits->header_bytes <= limits->factor * model->longest_open_bytes);
    if (model->validated || station->config.unvalidated_bytes_per_s == 0)
        return;
    if (model->earlier_words_wait && (view->type == DONE || view->type == QUIT))
        return; /* perhaps of the connection before, whose peer was validated */
    if (is_stateless(model, view))
        FUZZ_CHECK(unvalidated_may_reply(limits, &station->replies, station->now));
    else
        FUZZ_CHECK(unvalidated_may_send(limits, &station->bytes_sent, &model->credit_bytes, view->size, station->now));
}

/* A RESPONSE holds the same token each time. A copy of OPEN that is shorter than the first may not pay for it. */
static void check_token(struct model *model, const struct view *view)
{
    struct guarded_token token = guarded_read_token(view);
    if (model->station->expect.peer_is_ours)
        FUZZ_CHECK(token.known == model->info.guarded);
    if (!token.known)
        return;
    FUZZ_CHECK(!model->token.known || token.first_buffer == model->token.first_buffer);
    model->token = token;
}

static void leaves(struct model *model, const uint8_t *packet, size_t size)
{
    struct station *station = model->station;
    struct view view;
    view_read(&view, packet, size);
    FUZZ_CHECK(view.header_good && size == (view.length + 3u) / 4 * 4);
    check_reflection(model, &view);
    if (view.type == DONE && model->connection == NULL && !model->earlier_words_wait)
        FUZZ_CHECK(model->finished == 1 && model->result == NETBLT_DONE && model->info.role == NETBLT_RECEIVER);
    if (!is_stateless(model, &view)) {
        FUZZ_CHECK(model->connection != NULL && view.from_port == model->local_port);
        FUZZ_CHECK(view.to_port == model->foreign_port);
        FUZZ_CHECK(view.type != OPEN || !model->passive);
        FUZZ_CHECK(view.type != RESPONSE || model->passive);
        if (view.type == RESPONSE)
            check_token(model, &view);
        if (model->is_open && model->info.role == NETBLT_SENDER)
            sender_emits(model, &view);
        else if (model->is_open)
            receiver_emits(model, &view);
    }
    if (station->sent != NULL)
        station->sent(station->context, model, packet, size);
}

/* Nothing of what was to leave waits any more. */
static void all_has_left(struct station *station)
{
    unvalidated_all_left(&station->replies);
    unvalidated_all_left(&station->bytes_sent);
    for (size_t i = 0; i < STATION_HOSTS_MAX; i++)
        station->hosts[i].earlier_words_wait = false;
}

static struct model *model_at(struct station *station, const netblt_address *foreign)
{
    for (size_t i = 0; i < STATION_HOSTS_MAX; i++)
        if (station->hosts[i].station != NULL && station->hosts[i].host == foreign->bytes[0])
            return &station->hosts[i];
    return NULL;
}

void station_drain(struct station *station, size_t capacity)
{
    static uint8_t packets[NETBLT_PACKET_MAX_BYTES];
    netblt_output output;
    for (int i = 0; i < DRAIN_RUNS_MAX; i++) {
        size_t bytes = netblt_output_burst(station->endpoint, packets, capacity, &output, station->now);
        settle(station);
        if (bytes == 0) {
            FUZZ_CHECK(output.error == 0 || output.needed > capacity);
            if (output.error == 0)
                all_has_left(station);
            return;
        }
        FUZZ_CHECK(bytes == output.length && bytes <= capacity);
        FUZZ_CHECK((bytes + output.segment_bytes - 1) / output.segment_bytes == output.count);
        struct model *model = model_at(station, &output.path.foreign);
        FUZZ_CHECK(model != NULL);
        for (size_t at = 0; at < bytes; at += output.segment_bytes)
            leaves(model, packets + at, bytes - at < output.segment_bytes ? bytes - at : output.segment_bytes);
    }
}

/* ---- time and calls -------------------------------------------------------------------------------------------- */

/* TIMER-10: no end waits longer than the death timer. */
static void check_death(const struct station *station)
{
    for (size_t i = 0; i < STATION_HOSTS_MAX; i++) {
        const struct model *model = &station->hosts[i];
        netblt_time death = (netblt_time)model->info.negotiated.death_timer_s * 1000000;
        if (model->connection != NULL && model->is_open && model->finished == 0)
            FUZZ_CHECK(station->now < model->valid_at + death);
    }
}

void station_advance(struct station *station, netblt_time at)
{
    station->now = at > station->now ? at : station->now;
    netblt_timeout(station->endpoint, station->now);
    settle(station);
    check_death(station);
}

void station_open(struct station *station, struct model *model, enum netblt_role role, uint32_t unique_id)
{
    netblt_path path = station_path(station, model);
    netblt_connection *connection = NULL;
    if (model->connection != NULL)
        return;
    model_begin(model, false);
    int result = netblt_open(station->endpoint,
                             &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                 .path = &path,
                                                 .local_port = model->local_port,
                                                 .foreign_port = model->foreign_port,
                                                 .role = role,
                                                 .unique_id = unique_id,
                                                 .params = &station->limits,
                                                 .client = &model_client,
                                                 .context = model,
                                                 .options = station->options},
                             station->now, &connection);
    model->begun = result == 0;
    model->connection = connection;
    station->open_connections += result == 0;
}

void station_quit(struct station *station, struct model *model)
{
    if (model->connection == NULL)
        return;
    bool first = !model->quit_called;
    model->quit_called = true;
    if (first)
        model->quit_called_at = station->now;
    netblt_quit(model->connection, "enough", station->now);
    settle(station);
}

void station_abort(struct station *station, struct model *model)
{
    if (model->connection == NULL)
        return;
    model->abort_called = true;
    netblt_abort(model->connection, "at once", station->now);
    settle(station);
}

void station_resume(struct station *station, struct model *model)
{
    if (model->connection != NULL)
        netblt_resume(model->connection, station->now);
    settle(station);
    if (model->connection != NULL)
        model_confirm(model);
    settle(station);
}
