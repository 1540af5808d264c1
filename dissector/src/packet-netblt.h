/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NETBLT_PACKET_NETBLT_H
#define NETBLT_PACKET_NETBLT_H

void netblt_register_protocol(void);
void netblt_register_handoff(void);

#endif
