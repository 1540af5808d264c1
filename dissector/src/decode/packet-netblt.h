/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registration of the decoder, under the names that Wireshark looks for in its own dissectors. */
#ifndef NETBLT_PACKET_NETBLT_H
#define NETBLT_PACKET_NETBLT_H

void proto_register_netblt(void);
void proto_reg_handoff_netblt(void);

#endif
