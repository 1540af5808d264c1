/* SPDX-License-Identifier: BSD-2-Clause */
/* The version of libnetblt. These three numbers are its only home: CMake, the shared library's name, pkg-config and
 * the command `netblt --version` read them from here. */
#ifndef NETBLT_VERSION_H
#define NETBLT_VERSION_H

#include <netblt/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NETBLT_VERSION_MAJOR 0
#define NETBLT_VERSION_MINOR 1
#define NETBLT_VERSION_PATCH 0

/* Larger for a later version, so that #if can compare: NETBLT_VERSION_NUMBER >= NETBLT_VERSION_OF(0, 2, 0). */
#define NETBLT_VERSION_OF(major, minor, patch) (((major) << 16) | ((minor) << 8) | (patch))
#define NETBLT_VERSION_NUMBER NETBLT_VERSION_OF(NETBLT_VERSION_MAJOR, NETBLT_VERSION_MINOR, NETBLT_VERSION_PATCH)

/* Returns the version of the library that the program runs with, as text: "0.1.0". The constants above are those of
 * the header that the program was compiled with. */
NETBLT_API const char *netblt_version(void);
/* Errors: none. */

/* Returns the same version as NETBLT_VERSION_NUMBER does. */
NETBLT_API uint32_t netblt_version_number(void);
/* Errors: none. */

#ifdef __cplusplus
}
#endif

#endif
