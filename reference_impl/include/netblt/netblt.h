/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_NETBLT_H
#define NETBLT_NETBLT_H

#include <netblt/endpoint.h>
#include <netblt/events.h>
#include <netblt/params.h>
#include <netblt/types.h>

#endif
