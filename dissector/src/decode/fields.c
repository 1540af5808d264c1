/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields, trees and expert items of the protocol. */
#include "decode/fields.h"

#include "decode/parse.h"

int proto_netblt = -1;

int hf_netblt_checksum = -1, hf_netblt_checksum_status = -1, hf_netblt_version = -1, hf_netblt_type = -1,
    hf_netblt_type_code = -1, hf_netblt_length = -1, hf_netblt_local_port = -1, hf_netblt_foreign_port = -1,
    hf_netblt_port = -1, hf_netblt_padding = -1, hf_netblt_alignment = -1, hf_netblt_dialect = -1;
int hf_netblt_uid = -1, hf_netblt_buffer_size = -1, hf_netblt_transfer_size = -1, hf_netblt_packet_size = -1,
    hf_netblt_burst_size = -1, hf_netblt_burst_interval = -1, hf_netblt_death_timer = -1, hf_netblt_flags = -1,
    hf_netblt_flags_write = -1, hf_netblt_flags_write_etftp = -1, hf_netblt_flags_data_checksum = -1,
    hf_netblt_flags_reserved_open = -1, hf_netblt_max_buffers = -1, hf_netblt_client_string = -1,
    hf_netblt_flags_binary = -1, hf_netblt_flags_renegotiate = -1, hf_netblt_flags_reserved_etftp = -1,
    hf_netblt_radio_delay = -1, hf_netblt_last_touched = -1;
int hf_netblt_reason = -1;
int hf_netblt_buffer = -1, hf_netblt_high_seq = -1, hf_netblt_packet = -1, hf_netblt_data_checksum = -1,
    hf_netblt_data_checksum_status = -1, hf_netblt_flags_last_buffer = -1, hf_netblt_flags_reserved_data = -1,
    hf_netblt_data = -1;
int hf_netblt_control_message = -1, hf_netblt_control_type = -1, hf_netblt_control_seq = -1,
    hf_netblt_control_buffer = -1, hf_netblt_control_go = -1, hf_netblt_control_ok = -1, hf_netblt_control_resend = -1,
    hf_netblt_control_burst_size = -1, hf_netblt_control_burst_interval = -1, hf_netblt_control_timer = -1,
    hf_netblt_control_padding = -1, hf_netblt_resend_count = -1, hf_netblt_resend_packet = -1,
    hf_netblt_control_packet_size = -1;
int hf_netblt_undecoded = -1;

int ett_netblt = -1, ett_netblt_flags = -1, ett_netblt_message = -1, ett_netblt_resend = -1;

expert_field ei_netblt_checksum_bad = EI_INIT, ei_netblt_checksum_variant = EI_INIT,
             ei_netblt_data_checksum_bad = EI_INIT, ei_netblt_short = EI_INIT, ei_netblt_length_beyond = EI_INIT,
             ei_netblt_length_below = EI_INIT, ei_netblt_length_multiple = EI_INIT, ei_netblt_length_wrong = EI_INIT,
             ei_netblt_type_unknown = EI_INIT, ei_netblt_message_residue = EI_INIT, ei_netblt_message_unknown = EI_INIT,
             ei_netblt_message_overrun = EI_INIT, ei_netblt_string_unterminated = EI_INIT,
             ei_netblt_string_tail = EI_INIT, ei_netblt_reserved = EI_INIT, ei_netblt_padding = EI_INIT,
             ei_netblt_trailing = EI_INIT, ei_netblt_cut = EI_INIT;

const unit_name_string nb_units_packets = {" packet", " packets"};

static const value_string message_names[] = {{NB_GO, "GO"}, {NB_OK, "OK"}, {NB_RESEND, "RESEND"}, {0, NULL}};

static const true_false_string write_read = {"WRITE: the end that opened sends", "READ: the end that opened receives"};
/* R1986-04 */
static const true_false_string get_put = {"GET: the end that opened receives", "PUT: the end that opened sends"};

static void register_header_fields(int proto)
{
    static hf_register_info hf[] = {
        {&hf_netblt_checksum, {"Checksum", "netblt.checksum", FT_UINT16, BASE_HEX, NULL, 0, NULL, HFILL}},
        {&hf_netblt_checksum_status,
         {"Checksum Status", "netblt.checksum.status", FT_UINT8, BASE_NONE, VALS(proto_checksum_vals), 0, NULL, HFILL}},
        {&hf_netblt_version, {"Version", "netblt.version", FT_UINT8, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_netblt_type,
         {"Type", "netblt.type", FT_UINT8, BASE_DEC, VALS(nb_type_names), 0, "As RFC 998 numbers it, in every dialect",
          HFILL}},
        {&hf_netblt_type_code,
         {"Type Code", "netblt.type.code", FT_UINT8, BASE_DEC, NULL, 0, "As received in the packet", HFILL}},
        {&hf_netblt_dialect,
         {"Dialect", "netblt.dialect", FT_UINT8, BASE_NONE, VALS(nb_dialect_names), 0, NULL, HFILL}},
        {&hf_netblt_length,
         {"Length", "netblt.length", FT_UINT16, BASE_DEC | BASE_UNIT_STRING, &units_byte_bytes, 0,
          "Header and data, without trailing alignment", HFILL}},
        {&hf_netblt_local_port,
         {"Local Port", "netblt.local_port", FT_UINT16, BASE_DEC, NULL, 0, "Port of the end that emitted this", HFILL}},
        {&hf_netblt_foreign_port, {"Foreign Port", "netblt.foreign_port", FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_netblt_port, {"Local or Foreign Port", "netblt.port", FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_netblt_padding, {"Padding", "netblt.padding", FT_UINT16, BASE_HEX, NULL, 0, NULL, HFILL}},
        {&hf_netblt_alignment,
         {"Alignment padding", "netblt.alignment", FT_BYTES, BASE_NONE, NULL, 0, "Bytes beyond Length", HFILL}},
    };

    proto_register_field_array(proto, hf, array_length(hf));
}

static void register_body_fields(int proto)
{
    static hf_register_info hf[] = {
        {&hf_netblt_uid, {"Connection Unique ID", "netblt.uid", FT_UINT32, BASE_HEX, NULL, 0, NULL, HFILL}},
        {&hf_netblt_buffer_size,
         {"Buffer Size", "netblt.buffer_size", FT_UINT32, BASE_DEC | BASE_UNIT_STRING, &units_byte_bytes, 0, NULL,
          HFILL}},
        {&hf_netblt_transfer_size,
         {"Transfer Size", "netblt.transfer_size", FT_UINT32, BASE_DEC | BASE_UNIT_STRING, &units_byte_bytes, 0,
          "0 when not given", HFILL}},
        {&hf_netblt_packet_size,
         {"DATA Packet Size", "netblt.packet_size", FT_UINT16, BASE_DEC | BASE_UNIT_STRING, &units_byte_bytes, 0,
          "Without the header", HFILL}},
        {&hf_netblt_burst_size,
         {"Burst Size", "netblt.burst_size", FT_UINT16, BASE_DEC | BASE_UNIT_STRING, &nb_units_packets, 0, NULL,
          HFILL}},
        {&hf_netblt_burst_interval,
         {"Burst Interval", "netblt.burst_interval", FT_UINT16, BASE_DEC | BASE_UNIT_STRING, &units_milliseconds, 0,
          "Start of burst to start of burst; RFC 998 calls it burst rate", HFILL}},
        {&hf_netblt_death_timer,
         {"Death Timer", "netblt.death_timer", FT_UINT16, BASE_DEC | BASE_UNIT_STRING, &units_seconds, 0, NULL, HFILL}},
        {&hf_netblt_flags, {"Flags", "netblt.flags", FT_UINT16, BASE_HEX, NULL, 0, NULL, HFILL}},
        {&hf_netblt_flags_write,
         {"M", "netblt.flags.write", FT_BOOLEAN, 16, TFS(&write_read), NB_OPEN_WRITE, NULL, HFILL}},
        {&hf_netblt_flags_write_etftp,
         {"M", "netblt.flags.write", FT_BOOLEAN, 16, TFS(&get_put), NB_OPEN_WRITE, "RFC 1986", HFILL}},
        {&hf_netblt_flags_data_checksum,
         {"C (data checksummed)", "netblt.flags.data_checksum", FT_BOOLEAN, 16, NULL, NB_OPEN_DATA_CHECKSUM, NULL,
          HFILL}},
        {&hf_netblt_flags_reserved_open,
         {"Reserved", "netblt.flags.reserved", FT_UINT16, BASE_HEX, NULL, NB_OPEN_RESERVED, NULL, HFILL}},
        {&hf_netblt_flags_binary,
         {"T (binary, not netascii)", "netblt.flags.binary", FT_BOOLEAN, 16, NULL, NB_ETFTP_BINARY, "RFC 1986", HFILL}},
        {&hf_netblt_flags_renegotiate,
         {"R (packet size may change)", "netblt.flags.renegotiate", FT_BOOLEAN, 16, NULL, NB_ETFTP_RENEGOTIATE,
          "RFC 1986", HFILL}},
        {&hf_netblt_flags_reserved_etftp,
         {"Reserved", "netblt.flags.reserved", FT_UINT16, BASE_HEX, NULL, NB_ETFTP_RESERVED, NULL, HFILL}},
        {&hf_netblt_radio_delay,
         {"Radio Delay", "netblt.radio_delay", FT_UINT16, BASE_DEC | BASE_UNIT_STRING, &units_seconds, 0, "RFC 1986",
          HFILL}},
        {&hf_netblt_last_touched,
         {"Last Buffer Touched", "netblt.last_touched", FT_UINT32, BASE_DEC, NULL, 0, "Version 4", HFILL}},
        {&hf_netblt_max_buffers,
         {"Maximum Outstanding Buffers", "netblt.max_buffers", FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_netblt_client_string,
         {"Client String", "netblt.client_string", FT_STRINGZPAD, BASE_NONE, NULL, 0, NULL, HFILL}},
        {&hf_netblt_reason, {"Reason", "netblt.reason", FT_STRINGZPAD, BASE_NONE, NULL, 0, NULL, HFILL}},
        {&hf_netblt_buffer, {"Buffer Number", "netblt.buffer", FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_netblt_high_seq,
         {"High Consecutive Sequence Number", "netblt.high_seq", FT_UINT16, BASE_DEC, NULL, 0,
          "Acknowledges every control message up to this one", HFILL}},
        {&hf_netblt_packet, {"Packet Number", "netblt.packet", FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_netblt_data_checksum,
         {"Data Area Checksum", "netblt.data_checksum", FT_UINT16, BASE_HEX, NULL, 0, NULL, HFILL}},
        {&hf_netblt_data_checksum_status,
         {"Data Area Checksum Status", "netblt.data_checksum.status", FT_UINT8, BASE_NONE, VALS(proto_checksum_vals), 0,
          NULL, HFILL}},
        {&hf_netblt_flags_last_buffer,
         {"L (last buffer)", "netblt.flags.last_buffer", FT_BOOLEAN, 16, NULL, NB_DATA_LAST_BUFFER, NULL, HFILL}},
        {&hf_netblt_flags_reserved_data,
         {"Reserved", "netblt.flags.reserved", FT_UINT16, BASE_HEX, NULL, NB_DATA_RESERVED, NULL, HFILL}},
        {&hf_netblt_data, {"Data", "netblt.data", FT_BYTES, BASE_NONE, NULL, 0, NULL, HFILL}},
        {&hf_netblt_undecoded,
         {"Not decoded", "netblt.undecoded", FT_BYTES, BASE_NONE, NULL, 0, "Bytes with no meaning in RFC 998", HFILL}},
    };

    proto_register_field_array(proto, hf, array_length(hf));
}

static void register_control_fields(int proto)
{
    static hf_register_info hf[] = {
        {&hf_netblt_control_message, {"Message", "netblt.control.message", FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL}},
        {&hf_netblt_control_type,
         {"Message Type", "netblt.control.type", FT_UINT8, BASE_DEC, VALS(message_names), 0, NULL, HFILL}},
        {&hf_netblt_control_seq, {"Sequence Number", "netblt.control.seq", FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_netblt_control_buffer,
         {"Buffer Number", "netblt.control.buffer", FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_netblt_control_go, {"Buffer of the GO", "netblt.control.go", FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_netblt_control_ok, {"Buffer of the OK", "netblt.control.ok", FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_netblt_control_resend,
         {"Buffer of the RESEND", "netblt.control.resend", FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_netblt_control_burst_size,
         {"Offered Burst Size", "netblt.control.burst_size", FT_UINT16, BASE_DEC | BASE_UNIT_STRING, &nb_units_packets,
          0, NULL, HFILL}},
        {&hf_netblt_control_burst_interval,
         {"Offered Burst Interval", "netblt.control.burst_interval", FT_UINT16, BASE_DEC | BASE_UNIT_STRING,
          &units_milliseconds, 0, NULL, HFILL}},
        {&hf_netblt_control_timer,
         {"Control Timer", "netblt.control.timer", FT_UINT16, BASE_DEC | BASE_UNIT_STRING, &units_milliseconds, 0, NULL,
          HFILL}},
        {&hf_netblt_control_packet_size,
         {"New DATA Packet Size", "netblt.control.packet_size", FT_UINT16, BASE_DEC | BASE_UNIT_STRING,
          &units_byte_bytes, 0, "RFC 1986", HFILL}},
        {&hf_netblt_control_padding, {"Padding", "netblt.control.padding", FT_BYTES, BASE_NONE, NULL, 0, NULL, HFILL}},
        {&hf_netblt_resend_count,
         {"Missing Packets", "netblt.control.resend.count", FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_netblt_resend_packet,
         {"Packet", "netblt.control.resend.packet", FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL}},
    };

    proto_register_field_array(proto, hf, array_length(hf));
}

static void register_trees(void)
{
    static int *ett[] = {&ett_netblt, &ett_netblt_flags, &ett_netblt_message, &ett_netblt_resend};

    proto_register_subtree_array(ett, array_length(ett));
}

/* Severity: Error is kept for proven violations; a corrupt or cut packet shows no fault of an end, so it is a Warning
 * at most. */
static void register_expert_items(int proto)
{
    static ei_register_info ei[] = {
        {&ei_netblt_checksum_bad, {"netblt.checksum_bad", PI_CHECKSUM, PI_WARN, "Bad checksum [CKSUM-06]", EXPFILL}},
        {&ei_netblt_checksum_variant,
         {"netblt.checksum_variant", PI_CHECKSUM, PI_NOTE, "Checksum covers data: variant [CKSUM-03]", EXPFILL}},
        {&ei_netblt_data_checksum_bad,
         {"netblt.data_checksum_bad", PI_CHECKSUM, PI_WARN, "Bad data area checksum [CKSUM-07]", EXPFILL}},
        {&ei_netblt_short, {"netblt.short", PI_PROTOCOL, PI_WARN, "Shorter than a NETBLT header [ROBUST-01]", EXPFILL}},
        {&ei_netblt_length_beyond,
         {"netblt.length_beyond", PI_PROTOCOL, PI_WARN, "Length is larger than the IP payload [WIRE-04]", EXPFILL}},
        {&ei_netblt_length_below,
         {"netblt.length_below", PI_PROTOCOL, PI_WARN, "Length is below the minimum of the type [ROBUST-01]", EXPFILL}},
        {&ei_netblt_length_multiple,
         {"netblt.length_multiple", PI_PROTOCOL, PI_WARN, "Length is not a multiple of 4 [WIRE-05]", EXPFILL}},
        {&ei_netblt_length_wrong,
         {"netblt.length_wrong", PI_PROTOCOL, PI_WARN, "Bytes after a packet of fixed size [WIRE-06]", EXPFILL}},
        {&ei_netblt_type_unknown,
         {"netblt.type_unknown", PI_PROTOCOL, PI_WARN, "Unknown packet type [WIRE-03]", EXPFILL}},
        {&ei_netblt_message_residue,
         {"netblt.control.residue", PI_PROTOCOL, PI_WARN, "Bytes left after the last message [WIRE-12]", EXPFILL}},
        {&ei_netblt_message_unknown,
         {"netblt.control.unknown", PI_PROTOCOL, PI_WARN, "Unknown control message type [ROBUST-02]", EXPFILL}},
        {&ei_netblt_message_overrun,
         {"netblt.control.overrun", PI_PROTOCOL, PI_WARN, "Message runs over the end of the packet [ROBUST-03]",
          EXPFILL}},
        {&ei_netblt_string_unterminated,
         {"netblt.string_unterminated", PI_PROTOCOL, PI_WARN, "String does not end in NUL [WIRE-07]", EXPFILL}},
        {&ei_netblt_string_tail,
         {"netblt.string_tail", PI_PROTOCOL, PI_NOTE, "Non-zero bytes after the string's NUL [WIRE-07]", EXPFILL}},
        {&ei_netblt_reserved,
         {"netblt.reserved_set", PI_PROTOCOL, PI_WARN, "Reserved bits are set [ROBUST-04]", EXPFILL}},
        {&ei_netblt_padding, {"netblt.padding_set", PI_PROTOCOL, PI_NOTE, "Padding is not zero [ROBUST-04]", EXPFILL}},
        {&ei_netblt_trailing,
         {"netblt.trailing", PI_PROTOCOL, PI_NOTE, "More bytes beyond Length than alignment needs [WIRE-04]", EXPFILL}},
        {&ei_netblt_cut,
         {"netblt.cut", PI_UNDECODED, PI_NOTE, "The capture holds only a part of this packet", EXPFILL}},
    };

    expert_register_field_array(expert_register_protocol(proto), ei, array_length(ei));
}

void netblt_register_fields(int proto)
{
    register_header_fields(proto);
    register_body_fields(proto);
    register_control_fields(proto);
    register_trees();
    register_expert_items(proto);
}
