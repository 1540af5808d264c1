/* SPDX-License-Identifier: BSD-2-Clause */
/* Forged NETBLT packets: parsing of steps and writing of packets. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "forge.h"
#include "wire/checksum.h"
#include "wire/wire.h"

enum {
    IP_HEADER_BYTES = 20,
    UDP_HEADER_BYTES = 8,
    ICMP_HEADER_BYTES = 8,
    ICMP_UNREACHABLE = 3,
    NETBLT_PROTOCOL = 30,
};

#define NS_PER_MS UINT64_C(1000000)

/* ---- numbers --------------------------------------------------------------------------------------------------- */

/* What a random number is drawn for: each use has a stream of its own, so that all packets of one conversation agree
 * on its address and ports. */
enum { SALT_ADDRESS = 1, SALT_LOCAL, SALT_FOREIGN, SALT_UDP_FROM, SALT_UDP_TO, SALT_STEP = 16, SALTS_PER_STEP = 8 };

/* splitmix64: equal arguments give equal numbers, so nothing needs to be remembered of a conversation. */
static uint64_t random_number(const struct forge_plan *plan, uint64_t index, unsigned salt)
{
    uint64_t mixed = plan->seed + UINT64_C(0x9E3779B97F4A7C15) * (index * 4096 + salt + 1);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ (mixed >> 31);
}

static uint32_t number_of(const struct forge_plan *plan, const struct forge_value *value, uint64_t index, unsigned salt)
{
    uint64_t span = (uint64_t)value->last - value->first + 1;
    uint64_t draw = value->kind == FORGE_RANDOM ? random_number(plan, index, salt) : index;
    return value->first + (uint32_t)(draw % span);
}

static bool read_number(const char *text, uint32_t most, uint32_t *number, const char **end)
{
    char *stop;
    unsigned long long parsed = strtoull(text, &stop, 10);
    if (text[0] < '0' || text[0] > '9' || parsed > most)
        return false;
    *number = (uint32_t)parsed;
    *end = stop;
    return true;
}

bool forge_read_value(const char *text, uint32_t most, struct forge_value *value)
{
    static const char random_range[] = "random:";
    *value = (struct forge_value){.kind = FORGE_RANGE, .last = most};
    if (strcmp(text, "index") == 0)
        return true;
    if (strcmp(text, "random") == 0) {
        value->kind = FORGE_RANDOM;
        return true;
    }
    if (strncmp(text, random_range, sizeof random_range - 1) == 0) {
        value->kind = FORGE_RANDOM;
        text += sizeof random_range - 1;
    }
    if (!read_number(text, most, &value->first, &text))
        return false;
    value->last = value->first;
    if (*text == '-' && !read_number(text + 1, most, &value->last, &text))
        return false;
    return *text == '\0' && value->first <= value->last;
}

/* ---- steps ----------------------------------------------------------------------------------------------------- */

static const char *const kind_names[FORGE_KINDS] = {
    [FORGE_OPEN] = "open",       [FORGE_RESPONSE] = "response", [FORGE_KEEPALIVE] = "keepalive",
    [FORGE_QUIT] = "quit",       [FORGE_QUITACK] = "quitack",   [FORGE_ABORT] = "abort",
    [FORGE_DATA] = "data",       [FORGE_LDATA] = "ldata",       [FORGE_NULL_ACK] = "null-ack",
    [FORGE_REFUSED] = "refused", [FORGE_DONE] = "done",         [FORGE_GO] = "go",
    [FORGE_OK] = "ok",           [FORGE_RESEND] = "resend",     [FORGE_UNREACHABLE] = "unreachable",
};

static bool read_kind(const char *text, enum forge_kind *kind)
{
    for (unsigned i = 0; i < FORGE_KINDS; i++) {
        if (kind_names[i] == NULL || strcmp(kind_names[i], text) != 0)
            continue;
        *kind = (enum forge_kind)i;
        return true;
    }
    return false;
}

static bool read_direction(const char *word, struct forge_step *step)
{
    static const char *const names[] = {[FORGE_READ] = "read", [FORGE_WRITE] = "write", [FORGE_EITHER] = "either"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], word) != 0)
            continue;
        step->direction = (enum forge_direction)i;
        return true;
    }
    return false;
}

static bool read_varying(const char *name, const char *text, struct forge_step *step)
{
    const struct {
        const char *name;
        struct forge_value *value;
        uint32_t most;
    } fields[] = {
        {"seq", &step->seq, UINT16_MAX},
        {"buffer", &step->buffer, UINT32_MAX},
        {"packet", &step->packet, UINT16_MAX},
        {"code", &step->code, UINT8_MAX},
    };
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (strcmp(fields[i].name, name) == 0)
            return forge_read_value(text, fields[i].most, fields[i].value);
    return false;
}

static bool read_fixed(const char *name, const char *text, struct forge_step *step)
{
    uint32_t at_ms = 0;
    uint32_t every_ms = 0;
    const struct {
        const char *name;
        uint32_t *wide; /* one of these two */
        uint16_t *narrow;
        uint32_t most;
    } fields[] = {
        {"at", &at_ms, NULL, UINT32_MAX},
        {"every", &every_ms, NULL, UINT32_MAX},
        {"bytes", &step->data_bytes, NULL, FORGE_DATA_MAX_BYTES},
        {"buffer-size", &step->buffer_size, NULL, UINT32_MAX},
        {"packet-size", &step->packet_size, NULL, UINT16_MAX},
        {"max-buffers", NULL, &step->max_buffers, UINT16_MAX},
        {"burst-size", NULL, &step->burst_size, UINT16_MAX},
        {"burst-interval", NULL, &step->burst_interval_ms, UINT16_MAX},
        {"death", NULL, &step->death_timer_s, UINT16_MAX},
        {"repeat", &step->repeat, NULL, 1000},
    };
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct forge_value value;
        if (strcmp(fields[i].name, name) != 0)
            continue;
        if (!forge_read_value(text, fields[i].most, &value) || value.first != value.last)
            return false;
        if (fields[i].wide != NULL)
            *fields[i].wide = value.first;
        else
            *fields[i].narrow = (uint16_t)value.first;
        step->at_ns += at_ms * NS_PER_MS;
        step->every_ns += every_ms * NS_PER_MS;
        return true;
    }
    return false;
}

static bool read_word(char *word, struct forge_step *step)
{
    char *text = strchr(word, '=');
    if (text == NULL)
        return read_direction(word, step);
    *text++ = '\0';
    if (strcmp(word, "string") == 0)
        return (size_t)snprintf(step->text, sizeof step->text, "%s", text) < sizeof step->text;
    return read_varying(word, text, step) || read_fixed(word, text, step);
}

const char *forge_read_step(char *text, struct forge_step *step)
{
    char *words = strchr(text, ':');
    char *rest = NULL;
    *step = (struct forge_step){
        .seq = {FORGE_RANGE, 1, 1},
        .code = {FORGE_RANGE, 3, 3},
        .data_bytes = FORGE_DATA_MAX_BYTES,
        .buffer_size = 131072,
        .packet_size = 1448,
        .max_buffers = 64,
        .burst_size = 16,
        .burst_interval_ms = 2,
        .death_timer_s = 30,
        .repeat = 1,
    };
    if (words != NULL)
        *words++ = '\0';
    if (!read_kind(text, &step->kind))
        return "unknown kind of packet";
    for (char *word = words == NULL ? NULL : strtok_r(words, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest))
        if (!read_word(word, step))
            return "unknown word or value out of range";
    return NULL;
}

/* ---- NETBLT packets -------------------------------------------------------------------------------------------- */

/* The step's text with the first '%' replaced by the conversation's index. */
static void write_text(const struct forge_step *step, uint64_t index, char out[FORGE_TEXT_MAX_BYTES])
{
    const char *mark = strchr(step->text, '%');
    if (mark == NULL)
        snprintf(out, FORGE_TEXT_MAX_BYTES, "%s", step->text);
    else
        snprintf(out, FORGE_TEXT_MAX_BYTES, "%.*s%llu%s", (int)(mark - step->text), step->text,
                 (unsigned long long)index, mark + 1);
}

static size_t write_open(const struct forge_step *step, const struct nb_emitter *emitter, uint64_t index,
                         uint32_t unique_id, uint8_t *out)
{
    char text[FORGE_TEXT_MAX_BYTES];
    write_text(step, index, text);
    struct nb_open_fields fields = {
        .unique_id = unique_id,
        .buffer_size = step->buffer_size,
        .packet_size = (uint16_t)step->packet_size,
        .burst_size = step->burst_size,
        .burst_interval_ms = step->burst_interval_ms,
        .death_timer_s = step->death_timer_s,
        .write = step->direction == FORGE_WRITE || (step->direction == FORGE_EITHER && index % 2 == 1),
        .data_checksum = true,
        .max_buffers = step->max_buffers,
        .string = {(const uint8_t *)text, strlen(text)},
    };
    return nb_write_open(out, emitter, (enum nb_type)step->kind, &fields);
}

static size_t write_data(const struct forge_step *step, const struct nb_emitter *emitter, uint32_t buffer, uint16_t seq,
                         uint16_t packet, uint8_t *out)
{
    static const uint8_t zeros[FORGE_DATA_MAX_BYTES];
    struct nb_data_fields fields = {.buffer = buffer,
                                    .high_seq = seq,
                                    .packet = packet,
                                    .last_buffer = step->kind == FORGE_LDATA,
                                    .data = zeros,
                                    .length = step->data_bytes};
    return nb_write_data(out, emitter, (enum nb_type)step->kind, &fields, true);
}

static size_t write_control(const struct forge_step *step, const struct nb_emitter *emitter, uint32_t buffer,
                            uint16_t seq, uint16_t packet, uint8_t *out)
{
    uint8_t *message = out + NETBLT_HEADER_BYTES;
    size_t bytes;
    if (step->kind == FORGE_GO)
        bytes = nb_write_go(message, seq, buffer);
    else if (step->kind == FORGE_OK)
        bytes = nb_write_ok(message, seq, buffer, step->burst_size, step->burst_interval_ms, 1000);
    else
        bytes = nb_write_resend(message, seq, buffer, &packet, 1);
    return nb_write_control(out, emitter, bytes);
}

/* The NETBLT packet of a step, without IP and UDP headers. */
static size_t write_netblt(const struct forge_plan *plan, const struct forge_step *step, unsigned step_number,
                           uint64_t index, const struct nb_emitter *emitter, uint8_t *out)
{
    unsigned salt = SALT_STEP + step_number * SALTS_PER_STEP;
    uint32_t buffer = number_of(plan, &step->buffer, index, salt);
    uint16_t seq = (uint16_t)number_of(plan, &step->seq, index, salt + 1);
    uint16_t packet = (uint16_t)number_of(plan, &step->packet, index, salt + 2);
    char text[FORGE_TEXT_MAX_BYTES];
    switch (step->kind) {
    case FORGE_OPEN:
    case FORGE_RESPONSE:
        return write_open(step, emitter, index, (uint32_t)random_number(plan, index, salt + 3), out);
    case FORGE_QUIT:
    case FORGE_ABORT:
    case FORGE_REFUSED:
        write_text(step, index, text);
        return nb_write_reason(out, emitter, (enum nb_type)step->kind, text);
    case FORGE_DATA:
    case FORGE_LDATA:
        return write_data(step, emitter, buffer, seq, packet, out);
    case FORGE_NULL_ACK:
        return nb_write_null_ack(out, emitter,
                                 &(struct nb_null_ack_fields){seq, step->burst_size, step->burst_interval_ms, 0});
    case FORGE_GO:
    case FORGE_OK:
    case FORGE_RESEND:
        return write_control(step, emitter, buffer, seq, packet, out);
    default:
        return nb_write_bare(out, emitter, (enum nb_type)step->kind);
    }
}

/* ---- IP packets ------------------------------------------------------------------------------------------------ */

static void write_ip(uint8_t *out, uint32_t from, uint32_t to, uint8_t protocol, size_t bytes)
{
    memset(out, 0, IP_HEADER_BYTES);
    out[0] = 0x45;
    nb_put16(out + 2, (uint16_t)bytes);
    out[8] = 64;
    out[9] = protocol;
    nb_put32(out + 12, from);
    nb_put32(out + 16, to);
    nb_put16(out + 10, nb_checksum(out, IP_HEADER_BYTES));
}

/* UDP checksum 0: none was computed, which IPv4 allows. */
static void write_udp(uint8_t *out, uint16_t from, uint16_t to, size_t bytes)
{
    nb_put16(out, from);
    nb_put16(out + 2, to);
    nb_put16(out + 4, (uint16_t)bytes);
    nb_put16(out + 6, 0);
}

/* What is common to all packets of a conversation. */
struct conversation {
    uint32_t from;
    uint16_t local_port;
    uint16_t foreign_port;
    uint16_t udp_from;
    uint16_t udp_to;
};

static struct conversation conversation_of(const struct forge_plan *plan, uint64_t index)
{
    uint32_t host_mask = (uint32_t)((UINT64_C(1) << (32 - plan->from_prefix)) - 1);
    uint32_t host = (uint32_t)random_number(plan, index, SALT_ADDRESS) & host_mask;
    return (struct conversation){
        .from = (plan->from & ~host_mask) | host,
        .local_port = (uint16_t)number_of(plan, &plan->local_port, index, SALT_LOCAL),
        .foreign_port = (uint16_t)number_of(plan, &plan->foreign_port, index, SALT_FOREIGN),
        .udp_from = (uint16_t)number_of(plan, &plan->udp_from, index, SALT_UDP_FROM),
        .udp_to = (uint16_t)number_of(plan, &plan->udp_to, index, SALT_UDP_TO),
    };
}

/* ICMP as the target's peer would send it, had it got a packet of the target and no program to give it to. */
static size_t write_unreachable(const struct forge_plan *plan, const struct conversation *with, uint8_t code,
                                uint8_t *out)
{
    uint8_t *icmp = out + IP_HEADER_BYTES;
    uint8_t *quoted = icmp + ICMP_HEADER_BYTES;
    uint8_t *netblt = quoted + IP_HEADER_BYTES + (plan->udp ? UDP_HEADER_BYTES : 0);
    struct nb_emitter target = {plan->version, with->foreign_port, with->local_port};
    size_t netblt_bytes = nb_write_bare(netblt, &target, NB_KEEPALIVE);
    size_t bytes = (size_t)(netblt - out) + netblt_bytes;
    write_ip(quoted, plan->to, with->from, plan->udp ? IPPROTO_UDP : NETBLT_PROTOCOL, bytes - (size_t)(quoted - out));
    if (plan->udp)
        write_udp(quoted + IP_HEADER_BYTES, with->udp_to, with->udp_from, UDP_HEADER_BYTES + netblt_bytes);
    memset(icmp, 0, ICMP_HEADER_BYTES);
    icmp[0] = ICMP_UNREACHABLE;
    icmp[1] = code;
    nb_put16(icmp + 2, nb_checksum(icmp, bytes - IP_HEADER_BYTES));
    write_ip(out, with->from, plan->to, IPPROTO_ICMP, bytes);
    return bytes;
}

size_t forge_write(const struct forge_plan *plan, const struct forge_step *step, unsigned step_number, uint64_t index,
                   uint8_t out[FORGE_PACKET_MAX_BYTES])
{
    struct conversation with = conversation_of(plan, index);
    struct nb_emitter emitter = {plan->version, with.local_port, with.foreign_port};
    size_t headers = IP_HEADER_BYTES + (plan->udp ? UDP_HEADER_BYTES : 0);
    if (step->kind == FORGE_UNREACHABLE) {
        uint32_t code = number_of(plan, &step->code, index, SALT_STEP + step_number * SALTS_PER_STEP);
        return write_unreachable(plan, &with, (uint8_t)code, out);
    }
    size_t bytes = headers + write_netblt(plan, step, step_number, index, &emitter, out + headers);
    write_ip(out, with.from, plan->to, plan->udp ? IPPROTO_UDP : NETBLT_PROTOCOL, bytes);
    if (plan->udp)
        write_udp(out + IP_HEADER_BYTES, with.udp_from, with.udp_to, bytes - IP_HEADER_BYTES);
    return bytes;
}
