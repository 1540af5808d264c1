/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pipe endpoint in C: reads the requests of docs/pipe.md from standard input and returns the answers on standard
 * output. It drives any implementation through the functions of netblt_iut.h. To port your own, provide those
 * functions, or replace each call of netblt_iut_* here by one of yours. */
#include "netblt_iut.h"

#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HELLO = 0x01,
    START = 0x02,
    PACKET = 0x03,
    ADVANCE = 0x04,
    STOP = 0x05,
    REPORT = 0x06,
    CLOSE = 0x07,
    ANSWER_HELLO = 0x81,
    ANSWER_OUTPUT = 0x82,
    ANSWER_STATE = 0x83,
    ANSWER_REPORT = 0x84,
    ANSWER_UNSUPPORTED = 0x85,
};

enum { PIPE_VERSION = 1, ALL_FEATURES = 0x7f, PACKET_MAX_BYTES = 65535, TEXT_MAX_BYTES = 512 };

/* ---- reading ---- */

typedef struct reader {
    const uint8_t *at;
    size_t left;
} reader;

static void give_up(const char *why)
{
    fprintf(stderr, "pipe_endpoint: %s\n", why); /* standard output carries frames only */
    exit(1);
}

static const uint8_t *take(reader *from, size_t bytes)
{
    if (from->left < bytes)
        give_up("a request is too short");
    const uint8_t *taken = from->at;
    from->at += bytes;
    from->left -= bytes;
    return taken;
}

static uint64_t take_number(reader *from, size_t bytes)
{
    const uint8_t *octets = take(from, bytes);
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++)
        number = number << 8 | octets[i];
    return number;
}

/* A string with its length in front; what does not fit is cut off. */
static void take_text(reader *from, char *text, size_t capacity)
{
    size_t length = (size_t)take_number(from, 2);
    const uint8_t *octets = take(from, length);
    size_t kept = length < capacity ? length : capacity - 1;
    memcpy(text, octets, kept);
    text[kept] = '\0';
}

/* ---- writing ---- */

static void put_number(uint8_t *to, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(number >> 8 * (bytes - 1 - i));
}

/* One frame: its payload is `head` and then `rest`. */
static void write_frame(uint8_t kind, const void *head, size_t head_bytes, const void *rest, size_t rest_bytes)
{
    uint8_t begin[5];
    put_number(begin, 1 + head_bytes + rest_bytes, 4);
    begin[4] = kind;
    fwrite(begin, 1, sizeof begin, stdout);
    fwrite(head, 1, head_bytes, stdout);
    fwrite(rest, 1, rest_bytes, stdout);
}

/* All packets that leave now, and STATE: the end of most answers. `iut` may be NULL: no case is under way. */
static void answer(netblt_iut *iut, uint64_t now_us)
{
    static uint8_t packet[PACKET_MAX_BYTES];
    uint8_t destination[4];
    size_t length;
    while (iut != NULL && (length = netblt_iut_output(iut, now_us, destination, packet, sizeof packet)) > 0)
        write_frame(ANSWER_OUTPUT, destination, sizeof destination, packet, length);
    const char *reason = iut != NULL ? netblt_iut_reason(iut) : "";
    uint8_t state[11];
    put_number(state, iut != NULL ? netblt_iut_deadline(iut) : UINT64_MAX, 8);
    state[8] = iut != NULL ? (uint8_t)netblt_iut_get_status(iut) : NETBLT_IUT_OPENING;
    put_number(state + 9, strlen(reason), 2);
    write_frame(ANSWER_STATE, state, sizeof state, reason, strlen(reason));
}

static void answer_unsupported(const char *why)
{
    write_frame(ANSWER_UNSUPPORTED, why, strlen(why), "", 0);
}

/* ---- requests ---- */

static void answer_hello(void)
{
    static const char name[] = "pipe endpoint in C";
    uint8_t hello[8];
    put_number(hello, PIPE_VERSION, 2);
    put_number(hello + 2, ALL_FEATURES, 4); /* leave out the bits of what yours cannot do */
    put_number(hello + 6, strlen(name), 2);
    write_frame(ANSWER_HELLO, hello, sizeof hello, name, strlen(name));
}

static netblt_iut *start(reader *from, uint64_t now_us)
{
    netblt_iut_params params = {.active = take(from, 1)[0]};
    params.sender = take(from, 1)[0];
    params.version_byte = take(from, 1)[0];
    params.data_checksum = take(from, 1)[0];
    params.local_port = (uint16_t)take_number(from, 2);
    params.foreign_port = (uint16_t)take_number(from, 2);
    params.buffer_size = (uint32_t)take_number(from, 4);
    params.packet_size = (uint16_t)take_number(from, 2);
    params.burst_size = (uint16_t)take_number(from, 2);
    params.burst_interval_ms = (uint16_t)take_number(from, 2);
    params.death_timer_s = (uint16_t)take_number(from, 2);
    params.max_buffers = (uint16_t)take_number(from, 2);
    params.client_stall_from = (uint16_t)take_number(from, 2);
    params.client_stall_until_us = take_number(from, 8);
    params.seed = take_number(from, 8);
    memcpy(params.local_address, take(from, 4), 4);
    memcpy(params.foreign_address, take(from, 4), 4);
    take_text(from, params.client_string, sizeof params.client_string);
    char test_id[TEXT_MAX_BYTES]; /* for a log of yours */
    take_text(from, test_id, sizeof test_id);
    char error[TEXT_MAX_BYTES] = "";
    netblt_iut *iut = netblt_iut_start(&params, from->at, from->left, now_us, error, sizeof error);
    if (iut == NULL)
        answer_unsupported(error);
    return iut;
}

static void answer_report(const netblt_iut *iut)
{
    size_t length = 0;
    const uint8_t *delivered = netblt_iut_delivered(iut, &length);
    const char *peer = netblt_iut_peer_string(iut);
    uint8_t report[8 + SHA256_DIGEST_LENGTH + 2];
    put_number(report, length, 8);
    SHA256(length > 0 ? delivered : (const uint8_t *)"", length, report + 8);
    put_number(report + 8 + SHA256_DIGEST_LENGTH, strlen(peer), 2);
    write_frame(ANSWER_REPORT, report, sizeof report, peer, strlen(peer));
}

/* A request that belongs to the case under way. */
static void serve_case(netblt_iut *iut, uint8_t kind, reader *from)
{
    uint64_t now_us = take_number(from, 8);
    if (kind == PACKET) {
        const uint8_t *source = take(from, 4);
        netblt_iut_packet(iut, source, from->at, from->left, now_us);
    } else if (kind == ADVANCE) {
        netblt_iut_advance(iut, now_us);
    } else if (kind == STOP) {
        int abort_it = take(from, 1)[0];
        char reason[TEXT_MAX_BYTES];
        take_text(from, reason, sizeof reason);
        if (netblt_iut_stop(iut, abort_it, reason, now_us) != 0) {
            answer_unsupported("it cannot be stopped now");
            return;
        }
    } else {
        give_up("a request of unknown kind");
    }
    answer(iut, now_us);
}

static netblt_iut *serve(netblt_iut *iut, uint8_t kind, reader *from)
{
    if (kind == HELLO) {
        answer_hello();
    } else if (kind == START) {
        netblt_iut_free(iut);
        uint64_t now_us = take_number(from, 8);
        iut = start(from, now_us);
        if (iut != NULL)
            answer(iut, now_us);
    } else if (kind == CLOSE) {
        netblt_iut_free(iut);
        iut = NULL;
        answer(NULL, 0);
    } else if (iut == NULL) {
        give_up("a request outside of a case");
    } else if (kind == REPORT) {
        answer_report(iut);
    } else {
        serve_case(iut, kind, from);
    }
    return iut;
}

int main(void)
{
    netblt_iut *iut = NULL;
    uint8_t begin[4];
    while (fread(begin, 1, sizeof begin, stdin) == sizeof begin) {
        reader size = {begin, sizeof begin};
        size_t length = (size_t)take_number(&size, 4);
        uint8_t *body = malloc(length > 0 ? length : 1);
        if (body == NULL || length == 0 || fread(body, 1, length, stdin) != length)
            give_up("a request is cut off, or too long");
        reader from = {body + 1, length - 1};
        iut = serve(iut, body[0], &from);
        free(body);
        fflush(stdout);
    }
    netblt_iut_free(iut);
    return 0;
}
