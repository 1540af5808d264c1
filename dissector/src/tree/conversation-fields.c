/* SPDX-License-Identifier: GPL-2.0-or-later */
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

#define UINT(hf, label, filter, type, about)                                                                           \
    {                                                                                                                  \
        &(hf),                                                                                                         \
        {                                                                                                              \
            label, "netblt." filter, type, BASE_DEC, NULL, 0, about, HFILL                                             \
        }                                                                                                              \
    }
#define AMOUNT(hf, label, filter, type, unit, about)                                                                   \
    {                                                                                                                  \
        &(hf),                                                                                                         \
        {                                                                                                              \
            label, "netblt." filter, type, BASE_DEC | BASE_UNIT_STRING, &(unit), 0, about, HFILL                       \
        }                                                                                                              \
    }
#define FRAME(hf, label, filter, kind, about)                                                                          \
    {                                                                                                                  \
        &(hf),                                                                                                         \
        {                                                                                                              \
            label, "netblt." filter, FT_FRAMENUM, BASE_NONE, FRAMENUM_TYPE(kind), 0, about, HFILL                      \
        }                                                                                                              \
    }
#define TIME(hf, label, filter, about)                                                                                 \
    {                                                                                                                  \
        &(hf),                                                                                                         \
        {                                                                                                              \
            label, "netblt." filter, FT_RELATIVE_TIME, BASE_NONE, NULL, 0, about, HFILL                                \
        }                                                                                                              \
    }

static void register_stream_fields(int proto)
{
    static hf_register_info hf[] = {
        {&hf_nb_stream_uid,
         {"Connection Unique ID", "netblt.stream.uid", FT_UINT32, BASE_HEX, NULL, 0, "Of the stream's OPEN", HFILL}},
        UINT(hf_nb_completeness, "Completeness", "completeness", FT_UINT8,
             "1 OPEN, 2 RESPONSE, 4 data, 8 last buffer, 16 DONE, 32 QUIT, ABORT or REFUSED"),
        AMOUNT(hf_nb_agreed_buffer_size, "Buffer Size", "agreed.buffer_size", FT_UINT32, units_byte_bytes,
               "Of the RESPONSE"),
        AMOUNT(hf_nb_agreed_transfer_size, "Transfer Size", "agreed.transfer_size", FT_UINT32, units_byte_bytes,
               "0 when not given"),
        AMOUNT(hf_nb_agreed_packet_size, "DATA Packet Size", "agreed.packet_size", FT_UINT16, units_byte_bytes,
               "Without the header"),
        AMOUNT(hf_nb_agreed_burst_size, "Burst Size", "agreed.burst_size", FT_UINT16, nb_units_packets,
               "Of the RESPONSE"),
        AMOUNT(hf_nb_agreed_burst_interval, "Burst Interval", "agreed.burst_interval", FT_UINT16, units_milliseconds,
               NULL),
        AMOUNT(hf_nb_agreed_death_timer, "Death Timer", "agreed.death_timer", FT_UINT16, units_seconds, NULL),
        UINT(hf_nb_agreed_max_buffers, "Maximum Outstanding Buffers", "agreed.max_buffers", FT_UINT16, NULL),
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
        FRAME(hf_nb_first_sent, "First sent in", "analysis.first_frame", FT_FRAMENUM_RETRANS_PREV,
              "First transmission of this packet"),
        TIME(hf_nb_since_first_sent, "Time since first sent", "analysis.since_first", NULL),
        FRAME(hf_nb_sent_again, "Retransmitted in", "analysis.retransmitted_in", FT_FRAMENUM_RETRANS_NEXT,
              "First retransmission of this packet"),
        FRAME(hf_nb_asked_by, "Requested by the RESEND in", "analysis.resend_frame", FT_FRAMENUM_REQUEST, NULL),
        TIME(hf_nb_repair_time, "Time since the RESEND", "analysis.repair_time", NULL),
        FRAME(hf_nb_repaired_by, "First retransmission in", "analysis.repaired_in", FT_FRAMENUM_RESPONSE,
              "Of the packets that a RESEND of this CONTROL requests"),
        FRAME(hf_nb_answer_to, "Answer to", "response_to", FT_FRAMENUM_REQUEST, "The OPEN or QUIT"),
        TIME(hf_nb_answer_time, "Response time", "response_time", "From OPEN to RESPONSE, from QUIT to QUITACK"),
        FRAME(hf_nb_answered_by, "Answered in", "response_in", FT_FRAMENUM_RESPONSE, NULL),
        FRAME(hf_nb_go_frame, "GO of this buffer in", "go_frame", FT_FRAMENUM_REQUEST, NULL),
        TIME(hf_nb_go_time, "Time from GO to first DATA", "go_time", NULL),
        FRAME(hf_nb_acknowledges, "Acknowledges the message first sent in", "acknowledges", FT_FRAMENUM_ACK,
              "The newest message that this high-seq covers and none before did"),
        TIME(hf_nb_ack_time, "Time from message to acknowledgement", "ack_time", NULL),
        UINT(hf_nb_burst, "Burst", "burst", FT_UINT32, "Number of the burst, from 1"),
        UINT(hf_nb_burst_position, "Position in the burst", "burst.position", FT_UINT16, "From 1"),
        FRAME(hf_nb_burst_before, "Burst before began in", "burst.before", FT_FRAMENUM_NONE, NULL),
        TIME(hf_nb_burst_gap, "Since the burst before", "burst.gap",
             "Start to start: to be compared with the burst interval"),
        UINT(hf_nb_outstanding, "Outstanding buffers", "outstanding", FT_UINT16, "GO captured, OK not, up to here"),
    };

    proto_register_field_array(proto, hf, array_length(hf));
}

static void register_message_fields(int proto)
{
    static hf_register_info hf[] = {
        FRAME(hf_nb_message_first, "First sent in", "control.first_frame", FT_FRAMENUM_RETRANS_PREV, NULL),
        UINT(hf_nb_message_nth, "Sending", "control.nth", FT_UINT32, "How many CONTROLs held it up to here"),
        UINT(hf_nb_message_sent, "Times sent", "control.times_sent", FT_UINT32, "CONTROLs that hold it"),
        FRAME(hf_nb_message_acked, "Acknowledged in", "control.acked_in", FT_FRAMENUM_ACK, NULL),
        TIME(hf_nb_message_ack_time, "Time to acknowledgement", "control.ack_time", "Since it was first sent"),
        FRAME(hf_nb_first_data, "First DATA in", "control.first_data", FT_FRAMENUM_RESPONSE, NULL),
        FRAME(hf_nb_ok_frame, "OK of this buffer in", "control.ok_frame", FT_FRAMENUM_RESPONSE, NULL),
        TIME(hf_nb_buffer_time, "Time from GO to OK", "control.buffer_time", NULL),
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
