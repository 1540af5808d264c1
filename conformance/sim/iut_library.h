/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An implementation under test as a shared library that is loaded at run time. */
#ifndef IUT_LIBRARY_H
#define IUT_LIBRARY_H

#include "netblt_iut.h"

/* An implementation under test, loaded at run time: its functions by name. Any number of them live side by side, each
 * with its own symbols (RTLD_LOCAL). */
typedef struct iut_library iut_library;

/* Loads the shared library at `path`. NULL on failure with a sentence in `error`: no such file, a function is missing
 * (it is named), another ABI version. */
iut_library *iut_library_open(const char *path, char *error, size_t error_capacity);
/* Instances go on: the code is unloaded with the last of them. NULL is allowed. */
void iut_library_close(iut_library *library);

/* One instance and the library that it came from. The functions are those of netblt_iut.h. */
typedef struct iut iut;
iut *iut_start(iut_library *library, const netblt_iut_params *params, const uint8_t *data, size_t length,
               uint64_t now_us, char *error, size_t error_capacity);
void iut_free(iut *end); /* NULL is allowed */
void iut_packet(iut *end, const uint8_t source[4], const uint8_t *packet, size_t length, uint64_t now_us);
void iut_advance(iut *end, uint64_t now_us);
size_t iut_output(iut *end, uint64_t now_us, uint8_t destination[4], uint8_t *packet, size_t capacity);
uint64_t iut_deadline(const iut *end);
int iut_status(const iut *end);
const char *iut_reason(const iut *end);
const uint8_t *iut_delivered(const iut *end, size_t *length);
const char *iut_peer_string(const iut *end);
int iut_stop(iut *end, int abort, const char *reason, uint64_t now_us);
/* The address that it was started with. */
const uint8_t *iut_local_address(const iut *end);

#endif
