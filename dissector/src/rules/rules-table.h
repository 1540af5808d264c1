/* Generated from conformance/catalogue by tools/generate. Do not edit. */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of the plugin, for verdicts.h alone. */
/* clang-format off */

/* NAME, ID, slug (netblt.analysis.<slug>), reach, dialects in which it holds, summary. */
#define NB_RULE_LIST(X) \
    X(WIRE_CARRIER, "WIRE-01", "wire_carrier", OBSERVED, NB_IN(RFC998), "NETBLT is carried in IP protocol 30") \
    X(WIRE_HEADER, "WIRE-02", "wire_header", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "Header: one version byte, network byte order") \
    X(WIRE_TYPE, "WIRE-03", "wire_type", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "Only the type codes of RFC 998") \
    X(WIRE_LENGTH, "WIRE-04", "wire_length", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "Length counts header and data, within the IP payload") \
    X(WIRE_MULTIPLE, "WIRE-05", "wire_multiple", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "Packets are multiples of 4 bytes") \
    X(WIRE_HEADER_ONLY, "WIRE-06", "wire_header_only", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "KEEPALIVE, QUITACK and DONE are a bare header") \
    X(WIRE_STRING, "WIRE-07", "wire_string", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "Strings end in NUL and are filled with NULs") \
    X(WIRE_OPEN, "WIRE-08", "wire_open", VIOLATION, NB_IN(RFC998), "OPEN and RESPONSE hold all their fields") \
    X(WIRE_OPEN_FLAGS, "WIRE-09", "wire_open_flags", VIOLATION, NB_IN(RFC998), "Reserved flags of OPEN and RESPONSE are zero") \
    X(WIRE_DATA, "WIRE-10", "wire_data", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "DATA and LDATA hold all their fields, reserved flags zero") \
    X(WIRE_NULL_ACK, "WIRE-11", "wire_null_ack", VIOLATION, NB_IN(RFC998), "NULL-ACK has 20 bytes") \
    X(WIRE_CONTROL, "WIRE-12", "wire_control", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "CONTROL is a list of whole messages") \
    X(WIRE_DIRECTION, "WIRE-13", "wire_direction", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "Ports are the emitter's; types keep their direction") \
    X(CKSUM_ALL, "CKSUM-01", "cksum_all", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "Every packet carries a checksum") \
    X(CKSUM_ALGORITHM, "CKSUM-02", "cksum_algorithm", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "The checksum is the complement of the sum") \
    X(CKSUM_COVERAGE, "CKSUM-03", "cksum_coverage", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "The header checksum of data packets stops at the data") \
    X(CKSUM_DATA, "CKSUM-04", "cksum_data", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "Data are checksummed when negotiated") \
    X(CKSUM_BAD_HEADER, "CKSUM-06", "cksum_bad_header", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "A packet with a bad checksum has no effect") \
    X(CKSUM_BAD_DATA, "CKSUM-07", "cksum_bad_data", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "Damaged data count as lost") \
    X(OPEN_HANDSHAKE, "OPEN-01", "open_handshake", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "OPEN, then RESPONSE or REFUSED, then the transfer") \
    X(OPEN_UID, "OPEN-02", "open_uid", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "RESPONSE carries the unique ID of its OPEN") \
    X(OPEN_RETRY, "OPEN-03", "open_retry", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "OPEN is repeated, a limited number of times") \
    X(OPEN_SAME, "OPEN-04", "open_same", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "A repeated OPEN is the same OPEN") \
    X(OPEN_STOPS, "OPEN-05", "open_stops", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "No OPEN after the RESPONSE was accepted") \
    X(OPEN_REFUSED, "OPEN-06", "open_refused", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "REFUSED ends the attempt") \
    X(OPEN_AGAIN, "OPEN-07", "open_again", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "A repeated OPEN gets the same RESPONSE") \
    X(OPEN_RESPONSE_AGAIN, "OPEN-08", "open_response_again", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "A repeated RESPONSE has no effect") \
    X(OPEN_FOREIGN, "OPEN-09", "open_foreign", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "Another unique ID on ports in use is answered with ABORT") \
    X(OPEN_STALE, "OPEN-10", "open_stale", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "A RESPONSE with another unique ID opens nothing") \
    X(OPEN_ADVISORY, "OPEN-11", "open_advisory", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "The transfer size limits nothing") \
    X(OPEN_MODE, "OPEN-12", "open_mode", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "M shows which end sends") \
    X(OPEN_PORT, "OPEN-13", "open_port", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "Each connection of the active end has a port of its own") \
    X(OPEN_UNIQUE, "OPEN-14", "open_unique", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "Each OPEN for a new connection has another unique ID") \
    X(NEG_BUFFER_SIZE, "NEG-01", "neg_buffer_size", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "RESPONSE does not raise the buffer size") \
    X(NEG_PACKET_SIZE, "NEG-02", "neg_packet_size", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "RESPONSE does not raise the data packet size") \
    X(NEG_BURST_SIZE, "NEG-03", "neg_burst_size", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "RESPONSE does not raise the burst size") \
    X(NEG_BURST_INTERVAL, "NEG-04", "neg_burst_interval", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "RESPONSE does not shorten the burst interval") \
    X(NEG_MAX_BUFFERS, "NEG-05", "neg_max_buffers", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "RESPONSE does not raise the outstanding buffers") \
    X(NEG_GOVERNS, "NEG-06", "neg_governs", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "The values of the RESPONSE are used") \
    X(NEG_FLAGS, "NEG-07", "neg_flags", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "RESPONSE keeps the mode, and data checksums if requested") \
    X(NEG_OFFER, "NEG-08", "neg_offer", SUSPECTED, NB_IN(RFC998), "Every OK offers burst parameters") \
    X(NEG_RESTRICT, "NEG-09", "neg_restrict", VIOLATION, NB_IN(RFC998), "The sender takes the offered pair or a slower one") \
    X(NEG_UNUSABLE, "NEG-10", "neg_unusable", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "Unusable parameters are not accepted") \
    X(NEG_ANY_SIZE, "NEG-11", "neg_any_size", OBSERVED, NB_IN(RFC998), "Buffers of any size") \
    X(DATA_BEFORE_GO, "DATA-01", "data_before_go", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "No data of a buffer before its GO") \
    X(DATA_BUFFER_SIZE, "DATA-02", "data_buffer_size", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "Every buffer but the last is full") \
    X(DATA_PACKET_SIZE, "DATA-03", "data_packet_size", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "DATA carries the negotiated packet size") \
    X(DATA_LDATA, "DATA-04", "data_ldata", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "The highest packet of a buffer is LDATA, and only it") \
    X(DATA_NUMBERS, "DATA-05", "data_numbers", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "Packet numbers count the packets of a buffer") \
    X(DATA_BUFFERS, "DATA-06", "data_buffers", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "Buffer numbers go up") \
    X(DATA_DUPLICATES, "DATA-07", "data_duplicates", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Order and duplicates do not matter") \
    X(DATA_DELIVERED, "DATA-08", "data_delivered", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Every buffer arrives, the last one included") \
    X(DATA_LAST_FLAG, "DATA-09", "data_last_flag", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "L marks every packet of the last buffer and no other") \
    X(DATA_AFTER_LAST, "DATA-10", "data_after_last", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "No GO for buffers beyond the last") \
    X(DATA_MULTIPLE, "DATA-11", "data_multiple", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "The next buffer does not wait for OK") \
    X(DATA_OUTSTANDING, "DATA-12", "data_outstanding", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "No more buffers are sent without OK than agreed") \
    X(DATA_UNREQUESTED, "DATA-13", "data_unrequested", VIOLATION, NB_IN(RFC998), "Packets are retransmitted on request only") \
    X(DATA_FRAGMENTS, "DATA-14", "data_fragments", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "Packets are not fragmented by IP") \
    X(CTRL_NUMBERS, "CTRL-01", "ctrl_numbers", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "Control messages are numbered from 1 without gaps") \
    X(CTRL_REPEAT, "CTRL-02", "ctrl_repeat", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "A repeated message is the same message") \
    X(CTRL_FIFO, "CTRL-03", "ctrl_fifo", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP) | NB_IN(VERSION4), "Messages are in ascending consecutive order") \
    X(CTRL_REDUNDANCY, "CTRL-04", "ctrl_redundancy", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "CONTROL carries every unacknowledged message") \
    X(CTRL_ACKED, "CTRL-05", "ctrl_acked", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "Acknowledged messages are dropped") \
    X(CTRL_ACK, "CTRL-06", "ctrl_ack", VIOLATION, NB_IN(RFC998), "High-seq acknowledges what was received and never goes back") \
    X(CTRL_HOLE, "CTRL-07", "ctrl_hole", VIOLATION, NB_IN(RFC998), "Holes are not acknowledged") \
    X(CTRL_EARLY, "CTRL-08", "ctrl_early", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Messages beyond a hole do no harm") \
    X(CTRL_DUPLICATE, "CTRL-09", "ctrl_duplicate", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "A repeated message is not acted upon again") \
    X(CTRL_ACK_DUTY, "CTRL-10", "ctrl_ack_duty", SUSPECTED, NB_IN(RFC998), "Every CONTROL is acknowledged soon") \
    X(CTRL_NULL_ACK, "CTRL-11", "ctrl_null_ack", SUSPECTED, NB_IN(RFC998), "NULL-ACK holds the burst parameters in force") \
    X(CTRL_ALL, "CTRL-12", "ctrl_all", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "All messages of a CONTROL are processed") \
    X(CTRL_GO_ONCE, "CTRL-13", "ctrl_go_once", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "One GO per buffer") \
    X(CTRL_OK, "CTRL-14", "ctrl_ok", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "One OK per buffer, when it is complete") \
    X(CTRL_BEYOND, "CTRL-15", "ctrl_beyond", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "No RESEND for buffers beyond the last") \
    X(CTRL_SPLIT, "CTRL-16", "ctrl_split", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "A queue larger than a packet is sent in parts") \
    X(TIMER_CONTROL, "TIMER-01", "timer_control", SUSPECTED, NB_IN(RFC998), "CONTROL is repeated while unacknowledged") \
    X(TIMER_CLEARED, "TIMER-02", "timer_cleared", VIOLATION, NB_IN(RFC998), "Acknowledged CONTROLs are not repeated") \
    X(TIMER_PUBLISHED, "TIMER-03", "timer_published", SUSPECTED, NB_IN(RFC998), "CONTROL is repeated at the published timer value") \
    X(TIMER_ACK_WAIT, "TIMER-04", "timer_ack_wait", VIOLATION, NB_IN(RFC998), "No RESEND before the GO is acknowledged") \
    X(TIMER_TIGHT, "TIMER-05", "timer_tight", OBSERVED, NB_IN(RFC998), "The first packet of a buffer restarts its data timer") \
    X(TIMER_PATIENCE, "TIMER-06", "timer_patience", SUSPECTED, NB_IN(RFC998), "Data of a later buffer cause no instant RESEND") \
    X(TIMER_EXPIRY, "TIMER-07", "timer_expiry", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "The data timer requests what is missing") \
    X(TIMER_COMPLETE, "TIMER-08", "timer_complete", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "No RESEND for a complete buffer") \
    X(TIMER_MAGNITUDE, "TIMER-09", "timer_magnitude", OBSERVED, NB_IN(RFC998), "The data timer waits for the bursts that are due") \
    X(TIMER_DEATH, "TIMER-10", "timer_death", OBSERVED, NB_IN(RFC998), "A silent peer is declared dead") \
    X(TIMER_KEEPALIVE, "TIMER-11", "timer_keepalive", SUSPECTED, NB_IN(RFC998), "An idle end sends KEEPALIVE") \
    X(TIMER_ONE_WAY, "TIMER-12", "timer_one_way", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "KEEPALIVE is not answered") \
    X(RESEND_LIST, "RESEND-01", "resend_list", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "RESEND lists missing packets, each once") \
    X(RESEND_SERVED, "RESEND-02", "resend_served", VIOLATION, NB_IN(RFC998), "Exactly the packets that RESEND lists are retransmitted") \
    X(RESEND_IDENTITY, "RESEND-03", "resend_identity", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "A retransmitted packet is the same packet") \
    X(RESEND_LOOP, "RESEND-04", "resend_loop", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "A packet that is lost twice is requested twice") \
    X(RESEND_LDATA, "RESEND-05", "resend_ldata", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "A lost LDATA is requested") \
    X(RESEND_SINGLE, "RESEND-06", "resend_single", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "One open RESEND per buffer") \
    X(RESEND_PATIENCE, "RESEND-07", "resend_patience", SUSPECTED, NB_IN(RFC998), "No instant RESEND when LDATA arrives") \
    X(RESEND_SENSELESS, "RESEND-08", "resend_senseless", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "Packets that wait to be sent are not sent twice") \
    X(ORDER_BUFFERS, "ORDER-01", "order_buffers", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "The lowest buffer is sent first") \
    X(BUFFER_ORDER, "ORDER-02", "buffer_order", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "Retransmissions precede later buffers") \
    X(ORDER_PACKETS, "ORDER-03", "order_packets", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "A buffer goes out in order, LDATA last") \
    X(ORDER_GAP, "ORDER-04", "order_gap", SUSPECTED, NB_IN(RFC998), "The next buffer follows without a gap") \
    X(RATE_BURST, "RATE-01", "rate_burst", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "No more than a burst per interval") \
    X(RATE_INTERVAL, "RATE-02", "rate_interval", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "Bursts start no closer than the burst interval") \
    X(RATE_REPAIRS, "RATE-03", "rate_repairs", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "Retransmissions are paced too") \
    X(RATE_CLOCK, "RATE-04", "rate_clock", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "The sender paces by its own clock") \
    X(RATE_CHANGED, "RATE-05", "rate_changed", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "Renegotiated burst parameters take effect") \
    X(CLOSE_RECEIVER, "CLOSE-01", "close_receiver", VIOLATION, NB_IN(RFC998), "DONE only when all is in and acknowledged") \
    X(CLOSE_SENDER, "CLOSE-02", "close_sender", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "The sender is done when every buffer has its OK") \
    X(CLOSE_FINAL_OK, "CLOSE-03", "close_final_ok", SUSPECTED, NB_IN(RFC998), "The final OK is acknowledged") \
    X(CLOSE_DALLY, "CLOSE-04", "close_dally", SUSPECTED, NB_IN(RFC998), "The sender answers for as long as the OK requires") \
    X(CLOSE_REPEATED_OK, "CLOSE-05", "close_repeated_ok", SUSPECTED, NB_IN(RFC998), "A repeated OK is answered again") \
    X(CLOSE_DONE, "CLOSE-06", "close_done", SUSPECTED, NB_IN(RFC998), "DONE is sent once") \
    X(CLOSE_TIMER, "CLOSE-07", "close_timer", SUSPECTED, NB_IN(RFC998), "OK publishes the control timer") \
    X(CLOSE_REPAIRS, "CLOSE-08", "close_repairs", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Retransmissions continue after the last buffer was sent") \
    X(QUIT_ANSWERED, "QUIT-01", "quit_answered", SUSPECTED, NB_IN(RFC998), "QUIT is answered with QUITACK") \
    X(QUIT_REPEATED, "QUIT-02", "quit_repeated", SUSPECTED, NB_IN(RFC998), "QUIT is repeated until it is answered") \
    X(QUIT_DALLY, "QUIT-03", "quit_dally", SUSPECTED, NB_IN(RFC998), "A repeated QUIT is answered again") \
    X(QUIT_BOUNDARY, "QUIT-04", "quit_boundary", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "QUIT waits for the end of a buffer") \
    X(QUIT_SILENCE, "QUIT-05", "quit_silence", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "No transfer after QUIT or QUITACK") \
    X(QUIT_REASON, "QUIT-06", "quit_reason", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "QUIT gives a reason") \
    X(ABORT_SILENCE, "ABORT-01", "abort_silence", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "Nothing follows an ABORT") \
    X(ABORT_RECEIVED, "ABORT-02", "abort_received", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "An aborted end sends nothing more") \
    X(ABORT_QUITACK, "ABORT-03", "abort_quitack", VIOLATION, NB_IN(RFC998) | NB_IN(ETFTP), "ABORT is not answered with QUITACK") \
    X(ABORT_OPENING, "ABORT-04", "abort_opening", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "ABORT fails an opening") \
    X(DEMUX_KEY, "DEMUX-01", "demux_key", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "A connection is a pair of addresses and ports") \
    X(DEMUX_SERVICE, "DEMUX-02", "demux_service", SUSPECTED, NB_IN(RFC998) | NB_IN(ETFTP), "A second client is answered by RESPONSE or REFUSED") \
    X(DEMUX_UNKNOWN, "DEMUX-03", "demux_unknown", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Packets of no connection create none") \
    X(DEMUX_REUSE, "DEMUX-04", "demux_reuse", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Ports can be used again") \
    X(ROBUST_LENGTH, "ROBUST-01", "robust_length", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Packets with wrong lengths do no harm") \
    X(ROBUST_TYPE, "ROBUST-02", "robust_type", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Unknown types do no harm") \
    X(ROBUST_RESEND, "ROBUST-03", "robust_resend", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "A RESEND that overruns its packet does no harm") \
    X(ROBUST_RESERVED, "ROBUST-04", "robust_reserved", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Reserved bits of a peer are ignored") \
    X(ROBUST_STRING, "ROBUST-05", "robust_string", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Missing and unterminated strings do no harm") \
    X(ROBUST_DATA, "ROBUST-06", "robust_data", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Impossible data do no harm") \
    X(ROBUST_CONTROL, "ROBUST-07", "robust_control", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Impossible OKs and DONEs do no harm") \
    X(ROBUST_DIRECTION, "ROBUST-08", "robust_direction", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Packets for the other role or state do no harm") \
    X(R1030_PACK, "R1030-01", "r1030_pack", OBSERVED, NB_IN(RFC998), "OK and the next GO share a CONTROL") \
    X(R1030_REDUNDANT, "R1030-02", "r1030_redundant", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Old messages precede new ones in every CONTROL") \
    X(R1030_DUPLICATES, "R1030-03", "r1030_duplicates", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Duplicates cost nearly nothing") \
    X(R1030_ORDER, "R1030-04", "r1030_order", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Buffers are served in the order of their numbers") \
    X(R1030_PATIENCE, "R1030-05", "r1030_patience", SUSPECTED, NB_IN(RFC998), "LDATA triggers no RESEND") \
    X(R1030_REARM, "R1030-06", "r1030_rearm", OBSERVED, NB_IN(RFC998), "Data of a later buffer only restart a timer") \
    X(R1030_ADAPTIVE, "R1030-07", "r1030_adaptive", OBSERVED, NB_IN(RFC998), "The data timer follows the spacing of the packets") \
    X(R1030_INTERVAL, "R1030-08", "r1030_interval", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "The burst interval runs from start to start") \
    X(R1030_SIZE, "R1030-09", "r1030_size", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "The packet size counts data only") \
    X(R1030_CONTROLS, "R1030-10", "r1030_controls", OBSERVED, NB_IN(RFC998), "About one CONTROL per buffer") \
    X(R1030_ODD_SIZES, "R1030-11", "r1030_odd_sizes", OBSERVED, NB_IN(RFC998) | NB_IN(ETFTP), "Packet sizes need not be multiples of 4") \
    X(R1986_CARRIER, "R1986-01", "r1986_carrier", OBSERVED, NB_IN(ETFTP), "ETFTP is carried in UDP") \
    X(R1986_OPEN, "R1986-02", "r1986_open", VIOLATION, NB_IN(ETFTP), "OPEN and RESPONSE hold a radio delay") \
    X(R1986_FLAGS, "R1986-03", "r1986_flags", VIOLATION, NB_IN(ETFTP), "T selects binary or netascii, R allows other sizes") \
    X(R1986_MODE, "R1986-04", "r1986_mode", OBSERVED, NB_IN(ETFTP), "M is 0 where the active end sends") \
    X(R1986_SIZE, "R1986-05", "r1986_size", SUSPECTED, NB_IN(ETFTP), "OK and NULL-ACK carry the packet size when R is set") \
    X(R1986_NULL_ACK, "R1986-06", "r1986_null_ack", SUSPECTED, NB_IN(ETFTP), "NULL-ACK confirms changed parameters") \
    X(R1986_NUMBERS, "R1986-07", "r1986_numbers", VIOLATION, NB_IN(ETFTP), "The first buffer is 0, and the first packet of each") \
    X(R1986_BACK_OFF, "R1986-08", "r1986_back_off", OBSERVED, NB_IN(ETFTP), "Heavy loss reduces the packet size or the burst size") \
    X(R1986_RANGE, "R1986-09", "r1986_range", VIOLATION, NB_IN(ETFTP), "Packets hold 16 to 1448 bytes of data") \
    X(R1986_CLOSE, "R1986-10", "r1986_close", OBSERVED, NB_IN(ETFTP), "QUIT is answered with DONE") \
    X(R1986_TIMERS, "R1986-11", "r1986_timers", SUSPECTED, NB_IN(ETFTP), "What is repeated waits for 5 s at least") \
    X(R1986_REPEAT, "R1986-13", "r1986_repeat", OBSERVED, NB_IN(ETFTP), "The sender repeats until the OK") \
    X(R1986_ACK, "R1986-14", "r1986_ack", SUSPECTED, NB_IN(ETFTP), "High-seq never goes back") \
    X(R1986_FORMATS, "R1986-15", "r1986_formats", VIOLATION, NB_IN(ETFTP), "Formats of the other packets") \
    X(R1986_TYPES, "R1986-16", "r1986_types", OBSERVED, NB_IN(ETFTP), "Type codes") \
    X(R1986_ALIGNED, "R1986-17", "r1986_aligned", OBSERVED, NB_IN(ETFTP), "Longword alignment") \
    X(R1986_STRINGS, "R1986-18", "r1986_strings", OBSERVED, NB_IN(ETFTP), "Strings end in NUL and are padded") \
    X(R1986_NAME, "R1986-19", "r1986_name", SUSPECTED, NB_IN(ETFTP), "The client string names the file") \
    X(R1986_CHECKSUMS, "R1986-20", "r1986_checksums", OBSERVED, NB_IN(ETFTP), "Checksums") \
    X(R1986_LDATA, "R1986-21", "r1986_ldata", OBSERVED, NB_IN(ETFTP), "LDATA ends each buffer") \
    X(R1986_LAST_FLAG, "R1986-22", "r1986_last_flag", OBSERVED, NB_IN(ETFTP), "L on each packet of the last buffer") \
    X(R1986_TIGHT_TIMER, "R1986-23", "r1986_tight_timer", SUSPECTED, NB_IN(ETFTP), "OK returns the tight timer") \
    X(R1986_BLOCKS, "R1986-24", "r1986_blocks", VIOLATION, NB_IN(ETFTP), "A buffer is a whole number of blocks") \
    X(R1986_BUFFER, "R1986-25", "r1986_buffer", SUSPECTED, NB_IN(ETFTP), "A buffer has at most 524,288 bytes") \
    X(R1986_INTERVAL, "R1986-26", "r1986_interval", OBSERVED, NB_IN(ETFTP), "Burst rate is in milliseconds") \
    X(R1986_QUIT, "R1986-27", "r1986_quit", SUSPECTED, NB_IN(ETFTP), "QUIT is acknowledged") \
    X(R1986_FIXED_SIZE, "R1986-28", "r1986_fixed_size", VIOLATION, NB_IN(ETFTP), "Without R the packet size stays")

/* A rule, and one with the same content: only the second one is reported when it is violated. */
#define NB_SAME_LIST(SAME) \
    SAME(R1030_REDUNDANT, CTRL_FIFO) \
    SAME(R1030_REDUNDANT, CTRL_REDUNDANCY) \
    SAME(R1030_REDUNDANT, CTRL_ACKED) \
    SAME(R1030_DUPLICATES, CTRL_DUPLICATE) \
    SAME(R1030_ORDER, ORDER_BUFFERS) \
    SAME(R1030_ORDER, BUFFER_ORDER) \
    SAME(R1030_REARM, TIMER_PATIENCE) \
    SAME(R1030_INTERVAL, RATE_INTERVAL) \
    SAME(R1030_SIZE, DATA_PACKET_SIZE) \
    SAME(R1986_FORMATS, WIRE_HEADER_ONLY) \
    SAME(R1986_FORMATS, WIRE_DATA) \
    SAME(R1986_FORMATS, WIRE_CONTROL) \
    SAME(R1986_TYPES, WIRE_TYPE) \
    SAME(R1986_ALIGNED, WIRE_MULTIPLE) \
    SAME(R1986_STRINGS, WIRE_STRING) \
    SAME(R1986_CHECKSUMS, CKSUM_ALL) \
    SAME(R1986_CHECKSUMS, CKSUM_ALGORITHM) \
    SAME(R1986_CHECKSUMS, CKSUM_COVERAGE) \
    SAME(R1986_CHECKSUMS, CKSUM_DATA) \
    SAME(R1986_LDATA, DATA_LDATA) \
    SAME(R1986_LAST_FLAG, DATA_LAST_FLAG)
