/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capture of both sides of a flakeway in one pcapng file. */
#include "capture.h"

#include <stdio.h>
#include <string.h>

enum { LEFT = 0, RIGHT = 1 };

void flakeway_add_remark(char *comment, size_t capacity, const char *remark)
{
    size_t used = strlen(comment);
    snprintf(comment + used, capacity - used, "%s%s", used ? "; " : "flakeway: ", remark);
}

void flakeway_capture_remark(flakeway_capture *capture, const char *remark)
{
    flakeway_add_remark(capture->comment, sizeof capture->comment, remark);
}

static void hear(void *context, const flakeway_event *event)
{
    flakeway_capture *capture = context;
    char description[FLAKEWAY_RULE_TEXT_BYTES + 64];
    if (capture->writer) {
        flakeway_describe(event, description, sizeof description);
        flakeway_capture_remark(capture, description);
    }
    if (capture->next_trace)
        capture->next_trace(capture->next_context, event);
}

bool flakeway_capture_begin(flakeway_capture *capture, flakeway *engine, pcapng_writer *writer)
{
    *capture = (flakeway_capture){.writer = writer, .engine = engine};
    capture->next_trace = flakeway_get_trace(engine, &capture->next_context);
    flakeway_set_trace(engine, hear, capture);
    if (writer && pcapng_interfaces(writer) == 0) {
        pcapng_add_interface(writer, "left", "side A of the flakeway", PCAPNG_LINKTYPE_RAW);
        pcapng_add_interface(writer, "right", "side B of the flakeway", PCAPNG_LINKTYPE_RAW);
    }
    return !writer || pcapng_error(writer) == 0;
}

void flakeway_capture_end(flakeway_capture *capture)
{
    flakeway_set_trace(capture->engine, capture->next_trace, capture->next_context);
}

void flakeway_capture_entered(flakeway_capture *capture, enum flakeway_direction direction, uint64_t packet_id,
                              const uint8_t *ipv4, size_t length, uint64_t time_ns)
{
    if (!capture->writer)
        return;
    const pcapng_packet packet = {.interface = direction == FLAKEWAY_A_TO_B ? LEFT : RIGHT,
                                  .time_ns = time_ns,
                                  .bytes = ipv4,
                                  .length = length,
                                  .direction = PCAPNG_INBOUND,
                                  .packet_id = packet_id,
                                  .comment = capture->comment};
    pcapng_write(capture->writer, &packet);
    capture->comment[0] = '\0';
}

void flakeway_capture_left(flakeway_capture *capture, enum flakeway_direction direction,
                           const flakeway_released *released, const uint8_t *ipv4, size_t length, uint64_t time_ns)
{
    char comment[64] = "";
    if (!capture->writer)
        return;
    if (released && released->copy)
        snprintf(comment, sizeof comment, "flakeway: copy %u%s", released->copy,
                 released->changed ? " of a changed packet" : "");
    else if (released && released->changed)
        snprintf(comment, sizeof comment, "flakeway: changed on the way");
    const pcapng_packet packet = {.interface = direction == FLAKEWAY_A_TO_B ? RIGHT : LEFT,
                                  .time_ns = time_ns,
                                  .bytes = ipv4,
                                  .length = length,
                                  .direction = PCAPNG_OUTBOUND,
                                  .packet_id = released ? released->id : 0,
                                  .comment = comment};
    pcapng_write(capture->writer, &packet);
}
