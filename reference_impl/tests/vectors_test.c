/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the C core on the byte vectors, which all three readers of the wire format must read alike. Each packet
 * lies at the end of memory of exactly its size, so that the sanitizer sees a read beyond it. */
#include "check.h"
#include "vectors.h"
#include "wire/checksum.h"
#include "wire/wire.h"

#include <netblt/netblt.h>
#include <string.h>

static const struct vector *current;

#define FIELD(actual, field)                                                                                           \
    do {                                                                                                               \
        if ((uint32_t)(actual) != current->field) {                                                                    \
            fprintf(stderr, "%s: %s is %lu, wanted %lu\n", current->name, #field, (unsigned long)(actual),             \
                    (unsigned long)current->field);                                                                    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static void must(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "%s: %s\n", current->name, what);
        abort();
    }
}

static const char *const fault_names[] = {
    [NB_FAULT_NONE] = "",     [NB_FAULT_SHORT] = "short",       [NB_FAULT_LENGTH] = "length",
    [NB_FAULT_TYPE] = "type", [NB_FAULT_CHECKSUM] = "checksum", [NB_FAULT_MESSAGE] = "message",
};

static const char *const type_names[] = {"OPEN", "RESPONSE", "KEEPALIVE", "QUIT",    "QUITACK", "ABORT",
                                         "DATA", "LDATA",    "NULL-ACK",  "CONTROL", "REFUSED", "DONE"};

static void compare_text(struct nb_text text)
{
    must(text.length == strlen(current->string) && memcmp(text.bytes, current->string, text.length) == 0,
         "the text differs");
}

static void compare_open(const struct nb_open_fields *open)
{
    FIELD(open->unique_id, unique_id);
    FIELD(open->buffer_size, buffer_size);
    FIELD(open->transfer_size, transfer_size);
    FIELD(open->packet_size, packet_size);
    FIELD(open->burst_size, burst_size);
    FIELD(open->burst_interval_ms, burst_interval_ms);
    FIELD(open->death_timer_s, death_timer_s);
    FIELD(open->write, write);
    FIELD(open->data_checksum, data_checksum_flag);
    FIELD(open->reserved_flags, reserved_flags);
    FIELD(open->max_buffers, max_buffers);
    compare_text(open->string);
}

static void compare_data(const struct nb_data_fields *data)
{
    FIELD(data->buffer, buffer);
    FIELD(data->high_seq, high_seq);
    FIELD(data->packet, packet);
    FIELD(data->data_checksum, data_checksum);
    FIELD(data->last_buffer, last_buffer);
    FIELD(data->reserved_flags, reserved_flags);
    must(data->length == current->data_length && memcmp(data->data, current->data, data->length) == 0,
         "the data differs");
    bool matches = nb_checksum_matches(data->data, data->length, data->data_checksum);
    must(strcmp(current->sum, "good") != 0 || matches, "a good data checksum was not accepted");
    must(strcmp(current->sum, "bad") != 0 || !matches, "a bad data checksum was accepted");
}

static void compare_message(const struct nb_message *message, const struct vector_message *wanted)
{
    CHECK_EQUAL(message->type, wanted->type);
    CHECK_EQUAL(message->seq, wanted->seq);
    CHECK_EQUAL(message->buffer, wanted->buffer);
    CHECK_EQUAL(message->burst_size, wanted->burst_size);
    CHECK_EQUAL(message->burst_interval_ms, wanted->burst_interval_ms);
    CHECK_EQUAL(message->control_timer_ms, wanted->control_timer_ms);
    CHECK_EQUAL(message->count, wanted->count);
    for (uint16_t i = 0; i < message->count; i++)
        CHECK_EQUAL(nb_message_packet(message, i), wanted->packets[i]);
}

static enum nb_fault compare_messages(const struct nb_packet *packet)
{
    size_t offset = 0;
    size_t count = 0;
    struct nb_message message;
    enum nb_fault fault;
    while (nb_next_message(packet->control.bytes, packet->control.length, &offset, &message, &fault)) {
        must(count < current->message_count, "there are too many messages");
        compare_message(&message, &current->messages[count++]);
    }
    must(count == current->message_count, "there are too few messages");
    return fault;
}

static void compare_header(const struct nb_packet *packet)
{
    FIELD(packet->checksum, checksum);
    FIELD(packet->version, version);
    FIELD(packet->type, type_code);
    FIELD(packet->length, length);
    FIELD(packet->local_port, local_port);
    FIELD(packet->foreign_port, foreign_port);
    FIELD(packet->padding, padding);
}

static enum nb_fault compare_body(const struct nb_packet *packet)
{
    must(strcmp(type_names[packet->type], current->type) == 0, "the type differs");
    switch ((enum nb_type)packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        compare_open(&packet->open);
        break;
    case NB_QUIT:
    case NB_ABORT:
    case NB_REFUSED:
        compare_text(packet->reason);
        break;
    case NB_DATA:
    case NB_LDATA:
        compare_data(&packet->data);
        break;
    case NB_NULL_ACK:
        FIELD(packet->null_ack.high_seq, high_seq);
        FIELD(packet->null_ack.burst_size, burst_size);
        FIELD(packet->null_ack.burst_interval_ms, burst_interval_ms);
        break;
    case NB_CONTROL:
        return compare_messages(packet);
    case NB_KEEPALIVE:
    case NB_QUITACK:
    case NB_DONE:
        break;
    }
    return NB_FAULT_NONE;
}

static void decode_one(const uint8_t *octets)
{
    struct nb_packet packet;
    enum nb_fault fault = nb_decode(octets, current->size, &packet);
    if (fault == NB_FAULT_NONE || fault == NB_FAULT_CHECKSUM) {
        compare_header(&packet);
        enum nb_fault inside = compare_body(&packet);
        if (inside != NB_FAULT_NONE)
            fault = inside;
    }
    must(strcmp(fault_names[fault], current->error) == 0, fault_names[fault]);
}

static void every_vector_decodes_to_its_fields_or_to_its_fault(void)
{
    size_t decoded = 0;
    for (size_t i = 0; i < vector_count; i++) {
        current = vectors[i];
        if (!current->rfc998)
            continue;
        uint8_t *octets = malloc(current->size);
        memcpy(octets, current->octets, current->size);
        decode_one(octets);
        free(octets);
        decoded++;
    }
    CHECK(decoded > 0);
}

static size_t encode_messages(const struct nb_packet *packet, uint8_t *out)
{
    size_t offset = 0;
    size_t bytes = 0;
    struct nb_message message;
    enum nb_fault fault;
    while (nb_next_message(packet->control.bytes, packet->control.length, &offset, &message, &fault)) {
        static uint16_t list[65536];
        for (uint16_t i = 0; i < message.count; i++)
            list[i] = nb_message_packet(&message, i);
        if (message.type == NB_GO)
            bytes += nb_write_go(out + bytes, message.seq, message.buffer);
        else if (message.type == NB_OK)
            bytes += nb_write_ok(out + bytes, message.seq, message.buffer, message.burst_size,
                                 message.burst_interval_ms, message.control_timer_ms);
        else
            bytes += nb_write_resend(out + bytes, message.seq, message.buffer, list, message.count);
    }
    return bytes;
}

static size_t encode(const struct nb_packet *packet, uint8_t *out)
{
    struct nb_emitter emitter = {packet->version, packet->local_port, packet->foreign_port};
    char reason[NETBLT_STRING_MAX_BYTES + 1] = {0};
    switch ((enum nb_type)packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        return nb_write_open(out, &emitter, packet->type, &packet->open);
    case NB_QUIT:
    case NB_ABORT:
    case NB_REFUSED:
        memcpy(reason, packet->reason.bytes, packet->reason.length);
        return nb_write_reason(out, &emitter, packet->type, reason);
    case NB_DATA:
    case NB_LDATA:
        return nb_write_data(out, &emitter, packet->type, &packet->data, strcmp(current->sum, "good") == 0);
    case NB_NULL_ACK:
        return nb_write_null_ack(out, &emitter, &packet->null_ack);
    case NB_CONTROL:
        return nb_write_control(out, &emitter, encode_messages(packet, out + NETBLT_HEADER_BYTES));
    case NB_KEEPALIVE:
    case NB_QUITACK:
    case NB_DONE:
        return nb_write_bare(out, &emitter, packet->type);
    }
    return 0;
}

static void every_canonical_vector_is_encoded_to_the_same_bytes(void)
{
    size_t encoded[NB_DONE + 1] = {0};
    static uint8_t out[NETBLT_PACKET_MAX_BYTES + 1];
    for (size_t i = 0; i < vector_count; i++) {
        current = vectors[i];
        if (!current->canonical)
            continue;
        struct nb_packet packet;
        CHECK_EQUAL(nb_decode(current->octets, current->size, &packet), NB_FAULT_NONE);
        memset(out, 0xEE, sizeof out); /* every byte must be written */
        size_t bytes = encode(&packet, out);
        must(bytes == current->size && memcmp(out, current->octets, bytes) == 0, "the encoded bytes differ");
        encoded[packet.type]++;
    }
    for (int type = 0; type <= NB_DONE; type++)
        CHECK(encoded[type] > 0);
}

/* A host that holds nothing but a listener: whatever arrives, only a readable OPEN is answered. */
static void refuse_all(void *context, const netblt_request *request, netblt_answer *answer)
{
    (void)request;
    (void)answer;
    ++*(int *)context;
}

static void an_endpoint_takes_every_vector_and_answers_only_opens(void)
{
    static uint8_t out[NETBLT_PACKET_MAX_BYTES];
    netblt_path path = {.local = {4, {10, 0, 0, 1}}, .foreign = {4, {10, 0, 0, 2}}};
    netblt_config config;
    netblt_output output;
    netblt_config_default(&config);
    for (size_t i = 0; i < vector_count; i++) {
        current = vectors[i];
        int asked = 0;
        netblt_endpoint *endpoint = netblt_endpoint_new(&config);
        CHECK_EQUAL(netblt_listen(endpoint, 1, refuse_all, &asked), 0);
        int error = netblt_input(endpoint, &path, current->octets, current->size, current->size, 1000);
        bool readable = current->rfc998 && (current->error[0] == 0 || strcmp(current->error, "message") == 0);
        must((error == 0) == (readable && current->version != 4 && current->version != 5), "wrong answer of input");
        bool is_open = error == 0 && strcmp(current->type, "OPEN") == 0;
        bool answered = netblt_output_burst(endpoint, out, sizeof out, &output, 1000) > 0;
        must(answered == is_open, "only an OPEN is answered");
        must(!answered || out[3] == NB_REFUSED, "the answer is REFUSED");
        netblt_endpoint_free(endpoint);
    }
}

int main(void)
{
    CHECK(vector_count > 0);
    RUN(every_vector_decodes_to_its_fields_or_to_its_fault);
    RUN(every_canonical_vector_is_encoded_to_the_same_bytes);
    RUN(an_endpoint_takes_every_vector_and_answers_only_opens);
    printf("%zu vectors\n", vector_count);
    return 0;
}
