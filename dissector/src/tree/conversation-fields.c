/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of the conversation, which the plugin generates. */
#include "tree/conversation-fields.h"

#include "decode/fields.h"

int hf_nb_stream_uid = -1, hf_nb_completeness = -1;
int hf_nb_agreed_buffer_size = -1, hf_nb_agreed_transfer_size = -1, hf_nb_agreed_packet_size = -1,
    hf_nb_agreed_burst_size = -1, hf_nb_agreed_burst_interval = -1, hf_nb_agreed_death_timer = -1,
    hf_nb_agreed_max_buffers = -1, hf_nb_agreed_data_checksum = -1, hf_nb_agreed_client_string = -1;
int hf_nb_first_sent = -1, hf_nb_since_first_sent = -1, hf_nb_sent_again = -1, hf_nb_asked_by = -1,
    hf_nb_repair_time = -1, hf_nb_repaired_by = -1, hf_nb_answer_to = -1, hf_nb_answer_time = -1,
    hf_nb_answered_by = -1, hf_nb_go_frame = -1, hf_nb_go_time = -1, hf_nb_acknowledges = -1, hf_nb_ack_time = -1;
int hf_nb_burst = -1, hf_nb_burst_position = -1, hf_nb_burst_before = -1, hf_nb_burst_gap = -1, hf_nb_outstanding = -1;
int hf_nb_first_data = -1, hf_nb_ok_frame = -1, hf_nb_buffer_time = -1;
int hf_nb_message_first = -1, hf_nb_message_nth = -1, hf_nb_message_sent = -1, hf_nb_message_acked = -1,
    hf_nb_message_ack_time = -1;
int ett_nb_stream = -1;
expert_field ei_nb_retransmission = EI_INIT, ei_nb_out_of_order = EI_INIT, ei_nb_duplicate = EI_INIT;

static void register_stream_fields(int proto)
{
    static hf_register_info hf[] = {
        {&hf_nb_stream_uid,
         {"Connection Unique ID", "netblt.stream.uid", FT_UINT32, BASE_HEX, NULL, 0, "Of the stream's OPEN", HFILL}},
        {&hf_nb_completeness,
         {"Completeness", "netblt.completeness", FT_UINT8, BASE_DEC, NULL, 0,
          "1 OPEN, 2 RESPONSE, 4 data, 8 last buffer, 16 DONE, 32 QUIT, ABORT or REFUSED", HFILL}},
        {&hf_nb_agreed_buffer_size,
         {"Buffer Size", "netblt.agreed.buffer_size", FT_UINT32, BASE_DEC | BASE_UNIT_STRING, &units_byte_bytes, 0,
          "Of the RESPONSE", HFILL}},
        {&hf_nb_agreed_transfer_size,
         {"Transfer Size", "netblt.agreed.transfer_size", FT_UINT32, BASE_DEC | BASE_UNIT_STRING, &units_byte_bytes, 0,
          "0 when not given", HFILL}},
        {&hf_nb_agreed_packet_size,
         {"DATA Packet Size", "netblt.agreed.packet_size", FT_UINT16, BASE_DEC | BASE_UNIT_STRING, &units_byte_bytes, 0,
          "Without the header", HFILL}},
        {&hf_nb_agreed_burst_size,
         {"Burst Size", "netblt.agreed.burst_size", FT_UINT16, BASE_DEC | BASE_UNIT_STRING, &nb_units_packets, 0,
          "Of the RESPONSE", HFILL}},
        {&hf_nb_agreed_burst_interval,
         {"Burst Interval", "netblt.agreed.burst_interval", FT_UINT16, BASE_DEC | BASE_UNIT_STRING, &units_milliseconds,
          0, NULL, HFILL}},
        {&hf_nb_agreed_death_timer,
         {"Death Timer", "netblt.agreed.death_timer", FT_UINT16, BASE_DEC | BASE_UNIT_STRING, &units_seconds, 0, NULL,
          HFILL}},
        {&hf_nb_agreed_max_buffers,
         {"Maximum Outstanding Buffers", "netblt.agreed.max_buffers", FT_UINT16, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_nb_agreed_data_checksum,
         {"Data checksummed", "netblt.agreed.data_checksum", FT_BOOLEAN, BASE_NONE, NULL, 0, NULL, HFILL}},
        {&hf_nb_agreed_client_string,
         {"Client String", "netblt.agreed.client_string", FT_STRING, BASE_NONE, NULL, 0, "Of the OPEN", HFILL}},
    };

    proto_register_field_array(proto, hf, array_length(hf));
}

static void register_link_fields(int proto)
{
    static hf_register_info hf[] = {
        {&hf_nb_first_sent,
         {"First sent in", "netblt.analysis.first_frame", FT_FRAMENUM, BASE_NONE,
          FRAMENUM_TYPE(FT_FRAMENUM_RETRANS_PREV), 0, "First transmission of this packet", HFILL}},
        {&hf_nb_since_first_sent,
         {"Time since first sent", "netblt.analysis.since_first", FT_RELATIVE_TIME, BASE_NONE, NULL, 0, NULL, HFILL}},
        {&hf_nb_sent_again,
         {"Retransmitted in", "netblt.analysis.retransmitted_in", FT_FRAMENUM, BASE_NONE,
          FRAMENUM_TYPE(FT_FRAMENUM_RETRANS_NEXT), 0, "First retransmission of this packet", HFILL}},
        {&hf_nb_asked_by,
         {"Requested by the RESEND in", "netblt.analysis.resend_frame", FT_FRAMENUM, BASE_NONE,
          FRAMENUM_TYPE(FT_FRAMENUM_REQUEST), 0, NULL, HFILL}},
        {&hf_nb_repair_time,
         {"Time since the RESEND", "netblt.analysis.repair_time", FT_RELATIVE_TIME, BASE_NONE, NULL, 0, NULL, HFILL}},
        {&hf_nb_repaired_by,
         {"First retransmission in", "netblt.analysis.repaired_in", FT_FRAMENUM, BASE_NONE,
          FRAMENUM_TYPE(FT_FRAMENUM_RESPONSE), 0, "Of the packets that a RESEND of this CONTROL requests", HFILL}},
        {&hf_nb_answer_to,
         {"Answer to", "netblt.response_to", FT_FRAMENUM, BASE_NONE, FRAMENUM_TYPE(FT_FRAMENUM_REQUEST), 0,
          "The OPEN or QUIT", HFILL}},
        {&hf_nb_answer_time,
         {"Response time", "netblt.response_time", FT_RELATIVE_TIME, BASE_NONE, NULL, 0,
          "From OPEN to RESPONSE, from QUIT to QUITACK", HFILL}},
        {&hf_nb_answered_by,
         {"Answered in", "netblt.response_in", FT_FRAMENUM, BASE_NONE, FRAMENUM_TYPE(FT_FRAMENUM_RESPONSE), 0, NULL,
          HFILL}},
        {&hf_nb_go_frame,
         {"GO of this buffer in", "netblt.go_frame", FT_FRAMENUM, BASE_NONE, FRAMENUM_TYPE(FT_FRAMENUM_REQUEST), 0,
          NULL, HFILL}},
        {&hf_nb_go_time,
         {"Time from GO to first DATA", "netblt.go_time", FT_RELATIVE_TIME, BASE_NONE, NULL, 0, NULL, HFILL}},
        {&hf_nb_acknowledges,
         {"Acknowledges the message first sent in", "netblt.acknowledges", FT_FRAMENUM, BASE_NONE,
          FRAMENUM_TYPE(FT_FRAMENUM_ACK), 0, "The newest message that this high-seq covers and none before did",
          HFILL}},
        {&hf_nb_ack_time,
         {"Time from message to acknowledgement", "netblt.ack_time", FT_RELATIVE_TIME, BASE_NONE, NULL, 0, NULL,
          HFILL}},
        {&hf_nb_burst, {"Burst", "netblt.burst", FT_UINT32, BASE_DEC, NULL, 0, "Number of the burst, from 1", HFILL}},
        {&hf_nb_burst_position,
         {"Position in the burst", "netblt.burst.position", FT_UINT16, BASE_DEC, NULL, 0, "From 1", HFILL}},
        {&hf_nb_burst_before,
         {"Burst before began in", "netblt.burst.before", FT_FRAMENUM, BASE_NONE, FRAMENUM_TYPE(FT_FRAMENUM_NONE), 0,
          NULL, HFILL}},
        {&hf_nb_burst_gap,
         {"Since the burst before", "netblt.burst.gap", FT_RELATIVE_TIME, BASE_NONE, NULL, 0,
          "Start to start: to be compared with the burst interval", HFILL}},
        {&hf_nb_outstanding,
         {"Outstanding buffers", "netblt.outstanding", FT_UINT16, BASE_DEC, NULL, 0, "GO captured, OK not, up to here",
          HFILL}},
    };

    proto_register_field_array(proto, hf, array_length(hf));
}

static void register_message_fields(int proto)
{
    static hf_register_info hf[] = {
        {&hf_nb_message_first,
         {"First sent in", "netblt.control.first_frame", FT_FRAMENUM, BASE_NONE,
          FRAMENUM_TYPE(FT_FRAMENUM_RETRANS_PREV), 0, NULL, HFILL}},
        {&hf_nb_message_nth,
         {"Sending", "netblt.control.nth", FT_UINT32, BASE_DEC, NULL, 0, "How many CONTROLs held it up to here",
          HFILL}},
        {&hf_nb_message_sent,
         {"Times sent", "netblt.control.times_sent", FT_UINT32, BASE_DEC, NULL, 0, "CONTROLs that hold it", HFILL}},
        {&hf_nb_message_acked,
         {"Acknowledged in", "netblt.control.acked_in", FT_FRAMENUM, BASE_NONE, FRAMENUM_TYPE(FT_FRAMENUM_ACK), 0, NULL,
          HFILL}},
        {&hf_nb_message_ack_time,
         {"Time to acknowledgement", "netblt.control.ack_time", FT_RELATIVE_TIME, BASE_NONE, NULL, 0,
          "Since it was first sent", HFILL}},
        {&hf_nb_first_data,
         {"First DATA in", "netblt.control.first_data", FT_FRAMENUM, BASE_NONE, FRAMENUM_TYPE(FT_FRAMENUM_RESPONSE), 0,
          NULL, HFILL}},
        {&hf_nb_ok_frame,
         {"OK of this buffer in", "netblt.control.ok_frame", FT_FRAMENUM, BASE_NONE,
          FRAMENUM_TYPE(FT_FRAMENUM_RESPONSE), 0, NULL, HFILL}},
        {&hf_nb_buffer_time,
         {"Time from GO to OK", "netblt.control.buffer_time", FT_RELATIVE_TIME, BASE_NONE, NULL, 0, NULL, HFILL}},
    };

    proto_register_field_array(proto, hf, array_length(hf));
}

void nb_register_conversation_fields(int proto)
{
    static int *ett[] = {&ett_nb_stream};
    static ei_register_info ei[] = {
        {&ei_nb_retransmission, {"netblt.analysis.retransmission", PI_SEQUENCE, PI_NOTE, "Retransmission", EXPFILL}},
        {&ei_nb_out_of_order,
         {"netblt.analysis.out_of_order", PI_SEQUENCE, PI_NOTE, "Overtaken by packets captured before", EXPFILL}},
        {&ei_nb_duplicate,
         {"netblt.analysis.duplicate", PI_SEQUENCE, PI_NOTE,
          "Duplicate made by the network or the capture (same IP ID)", EXPFILL}},
    };

    register_stream_fields(proto);
    register_link_fields(proto);
    register_message_fields(proto);
    proto_register_subtree_array(ett, array_length(ett));
    expert_register_field_array(expert_register_protocol(proto), ei, array_length(ei));
}
