/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of the conversation, which the plugin generates. */
#ifndef NETBLT_FIELDS_CONVERSATION_H
#define NETBLT_FIELDS_CONVERSATION_H

#include "wireshark/compat.h"

extern int hf_nb_stream_uid, hf_nb_completeness;
extern int hf_nb_agreed_buffer_size, hf_nb_agreed_transfer_size, hf_nb_agreed_packet_size, hf_nb_agreed_burst_size,
    hf_nb_agreed_burst_interval, hf_nb_agreed_death_timer, hf_nb_agreed_max_buffers, hf_nb_agreed_data_checksum,
    hf_nb_agreed_client_string;
extern int hf_nb_first_sent, hf_nb_since_first_sent, hf_nb_sent_again, hf_nb_asked_by, hf_nb_repair_time,
    hf_nb_repaired_by, hf_nb_answer_to, hf_nb_answer_time, hf_nb_answered_by, hf_nb_go_frame, hf_nb_go_time,
    hf_nb_acknowledges, hf_nb_ack_time;
extern int hf_nb_burst, hf_nb_burst_position, hf_nb_burst_before, hf_nb_burst_gap, hf_nb_outstanding;
extern int hf_nb_first_data, hf_nb_ok_frame, hf_nb_buffer_time;
extern int hf_nb_message_first, hf_nb_message_nth, hf_nb_message_sent, hf_nb_message_acked, hf_nb_message_ack_time;
extern int ett_nb_stream;
void nb_register_conversation_fields(int proto);

extern expert_field ei_nb_retransmission, ei_nb_out_of_order, ei_nb_duplicate;

#endif
