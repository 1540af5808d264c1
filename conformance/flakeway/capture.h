/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capture of both sides of a flakeway in one pcapng file. */
#ifndef FLAKEWAY_CAPTURE_H
#define FLAKEWAY_CAPTURE_H

#include "flakeway.h"
#include "pcapng.h"

/* Both sides of a flakeway in one capture: interface "left" is A's side, "right" is B's. A packet that comes through
 * is on both under one packet ID; one that is dropped only where it entered. The decision is in the
 * comment of the packet that entered, "flakeway: dropped by rule 2 (drop nth=2 OK)". */
typedef struct flakeway_capture {
    pcapng_writer *writer; /* NULL = nothing is written */
    flakeway *engine;
    flakeway_trace_fn *next_trace; /* who listened before; hears everything too */
    void *next_context;
    char comment[1024];
} flakeway_capture;

/* Adds the two interfaces and listens to the engine's decisions until flakeway_capture_end(). false = the writer has
 * failed. `writer` may be NULL. */
bool flakeway_capture_begin(flakeway_capture *capture, flakeway *engine, pcapng_writer *writer);
void flakeway_capture_end(flakeway_capture *capture);

/* An IPv4 packet has entered, in `direction`: call it after flakeway_offer(). packet_id 0 = not offered. */
void flakeway_capture_entered(flakeway_capture *capture, enum flakeway_direction direction, uint64_t packet_id,
                              const uint8_t *ipv4, size_t length, uint64_t time_ns);
/* An IPv4 packet has left on the other side. `released` is NULL for one that was not offered. */
void flakeway_capture_left(flakeway_capture *capture, enum flakeway_direction direction,
                           const flakeway_released *released, const uint8_t *ipv4, size_t length, uint64_t time_ns);
/* A remark on the packet that enters next. */
void flakeway_capture_remark(flakeway_capture *capture, const char *remark);

/* Appends a remark to the comment of a packet, of which there may be several. */
void flakeway_add_remark(char *comment, size_t capacity, const char *remark);

#endif
