/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every field, tree and expert item of the protocol. Filter names are an interface: scripts and profiles use them. */
#ifndef NETBLT_FIELDS_H
#define NETBLT_FIELDS_H

#include "wireshark/compat.h"

#include <epan/unit_strings.h>

extern int proto_netblt;

extern int hf_netblt_checksum, hf_netblt_checksum_status, hf_netblt_version, hf_netblt_type, hf_netblt_type_code,
    hf_netblt_length, hf_netblt_local_port, hf_netblt_foreign_port, hf_netblt_port, hf_netblt_padding,
    hf_netblt_alignment, hf_netblt_dialect;
extern int hf_netblt_uid, hf_netblt_buffer_size, hf_netblt_transfer_size, hf_netblt_packet_size, hf_netblt_burst_size,
    hf_netblt_burst_interval, hf_netblt_death_timer, hf_netblt_flags, hf_netblt_flags_write,
    hf_netblt_flags_write_etftp, hf_netblt_flags_data_checksum, hf_netblt_flags_reserved_open, hf_netblt_max_buffers,
    hf_netblt_client_string, hf_netblt_flags_binary, hf_netblt_flags_renegotiate, hf_netblt_flags_reserved_etftp,
    hf_netblt_radio_delay, hf_netblt_last_touched;
extern int hf_netblt_reason;
extern int hf_netblt_buffer, hf_netblt_high_seq, hf_netblt_packet, hf_netblt_data_checksum,
    hf_netblt_data_checksum_status, hf_netblt_flags_last_buffer, hf_netblt_flags_reserved_data, hf_netblt_data;
extern int hf_netblt_control_message, hf_netblt_control_type, hf_netblt_control_seq, hf_netblt_control_buffer,
    hf_netblt_control_go, hf_netblt_control_ok, hf_netblt_control_resend, hf_netblt_control_burst_size,
    hf_netblt_control_burst_interval, hf_netblt_control_timer, hf_netblt_control_padding, hf_netblt_resend_count,
    hf_netblt_resend_packet, hf_netblt_control_packet_size;
extern int hf_netblt_undecoded;
extern int ett_netblt, ett_netblt_flags, ett_netblt_message, ett_netblt_resend;

extern expert_field ei_netblt_checksum_bad, ei_netblt_checksum_variant, ei_netblt_data_checksum_bad, ei_netblt_short,
    ei_netblt_length_beyond, ei_netblt_length_below, ei_netblt_length_multiple, ei_netblt_length_wrong,
    ei_netblt_type_unknown, ei_netblt_message_residue, ei_netblt_message_unknown, ei_netblt_message_overrun,
    ei_netblt_string_unterminated, ei_netblt_string_tail, ei_netblt_reserved, ei_netblt_padding, ei_netblt_trailing,
    ei_netblt_cut;

extern const unit_name_string nb_units_packets;

void netblt_register_fields(int proto);

#endif
