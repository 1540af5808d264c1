/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entry for libFuzzer: an input is a capture, so that the state between packets is fuzzed too. It is dissected as
 * Wireshark does, once in order and once more from the end, with every tree item made.
 *
 * An input is a list of packets: flags (enum flag), length (u16, big-endian), bytes of the NETBLT packet. */
#include "wireshark/compat.h"

#include <stdlib.h>

#include <epan/epan.h>
#include <epan/epan_dissect.h>
#include <epan/frame_data.h>
#include <epan/tap.h>
#include <wsutil/filesystem.h>
#include <wsutil/privileges.h>
#include <wsutil/wslog.h>

#include "decode/checksum.h"
#include "decode/netblt.h"

#if NETBLT_WIRESHARK_AT_LEAST(4, 6)
#error "epan_dissect_run takes other arguments since 4.6: fuzz with an older Wireshark, or adapt run()"
#endif

void plugin_register(void); /* plugin.c */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum flag {
    FROM_B = 1,        /* the second end emits it */
    REPAIR = 2,        /* give it a checksum that fits, else hardly any packet gets past the first gate */
    CARRIER = 4 | 8,   /* IPv4, UDP 9980, UDP 1818, IPv6 */
    REPEAT_ID = 16,    /* same IP ID as before: a copy */
    SKIP_ID = 32,      /* a packet in between was lost */
    CUT = 64,          /* the capture holds only half of it */
    OTHER_STREAM = 128 /* other ports */
};

enum { PACKETS_MAX = 64, FRAME_MAX = 2048, HEADERS_MAX = 48, HEAD_BYTES = 3 };

struct frame {
    uint8_t bytes[FRAME_MAX];
    uint32_t length;
    uint32_t captured;
    frame_data data;
};

struct capture {
    struct frame frames[PACKETS_MAX];
    uint32_t count;
    uint16_t ip_id[2];
};

/* A session takes a tenth of a second to set up, so that inputs share it: each has addresses of its own, and so streams
 * of its own. From time to time a new one begins, since nothing is freed before its end. */
static epan_t *session;
static epan_dissect_t *edt;
static uint32_t inputs;
static uint32_t frames_before; /* in this session */

enum { INPUTS_PER_SESSION = 4096 };

static const nstime_t *frame_time(struct packet_provider_data *provider _U_, uint32_t number _U_)
{
    static nstime_t zero;

    return &zero;
}

static const struct packet_provider_funcs provider = {.get_frame_ts = frame_time};

static tap_packet_status listen(void *state _U_, packet_info *pinfo _U_, epan_dissect_t *dissection _U_,
                                const void *data _U_, tap_flags_t flags _U_)
{
    return TAP_PACKET_DONT_REDRAW;
}

int LLVMFuzzerInitialize(int *argc _U_, char ***argv)
{
    setenv("WIRESHARK_ABORT_ON_DISSECTOR_BUG", "1", 1);
    setenv("WIRESHARK_DEBUG_WMEM_OVERRIDE", "simple", 1); /* so that AddressSanitizer sees every allocation */
    ws_log_init("netblt_fuzz", NULL);
    init_process_policies();
    g_free(configuration_init((*argv)[0], NULL));
    wtap_init(FALSE);
    plugin_register();
    if (!epan_init(NULL, NULL, FALSE)) {
        abort();
    }
    epan_load_settings();
    prefs_apply_all();
    static int listener;
    GString *error = register_tap_listener("netblt", &listener, NULL, 0, NULL, listen, NULL, NULL);
    if (error != NULL) {
        abort();
    }
    return 0;
}

static void put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* 10.0.0.0/8: the number of the input, then the end. */
static void put_address(uint8_t *at, int end)
{
    at[0] = 10;
    put16(at + 1, inputs >> 7);
    at[3] = (uint8_t)(inputs << 1 | (uint32_t)end);
}

static uint32_t add_ipv4(struct capture *capture, uint8_t *out, unsigned flags, uint32_t payload, uint8_t protocol)
{
    const int end = flags & FROM_B;

    capture->ip_id[end] = (uint16_t)(capture->ip_id[end] + (flags & REPEAT_ID ? 0 : flags & SKIP_ID ? 2 : 1));
    memset(out, 0, 20);
    out[0] = 0x45;
    put16(out + 2, 20 + payload);
    put16(out + 4, capture->ip_id[end]);
    out[8] = 64;
    out[9] = protocol;
    put_address(out + 12, end);
    put_address(out + 16, 1 - end);
    return 20;
}

static uint32_t add_ipv6(uint8_t *out, unsigned flags, uint32_t payload)
{
    memset(out, 0, 40);
    out[0] = 0x60;
    put16(out + 4, payload);
    out[6] = NB_IP_PROTOCOL;
    out[7] = 64;
    out[8] = out[24] = 0xfd;
    put_address(out + 20, (flags & FROM_B) != 0);
    put_address(out + 36, (flags & FROM_B) == 0);
    return 40;
}

/* The bytes below NETBLT; their number. */
static uint32_t add_headers(struct capture *capture, uint8_t *out, unsigned flags, uint32_t payload)
{
    static const uint16_t udp_ports[] = {0, NB_UDP_PORT, 1818};
    const unsigned carrier = (flags & CARRIER) >> 2;

    if (carrier == 0) {
        return add_ipv4(capture, out, flags, payload, NB_IP_PROTOCOL);
    }
    if (carrier == 3) {
        return add_ipv6(out, flags, payload);
    }
    const uint32_t ip = add_ipv4(capture, out, flags, payload + 8, 17);
    put16(out + ip, udp_ports[carrier]);
    put16(out + ip + 2, udp_ports[carrier]);
    put16(out + ip + 4, 8 + payload);
    put16(out + ip + 6, 0);
    return ip + 8;
}

/* The complement of the ones-complement sum, over what the type of the packet includes. */
static void repair(uint8_t *packet, uint32_t bytes)
{
    const uint32_t length = (uint32_t)packet[4] << 8 | packet[5];
    const bool data = packet[3] == NB_DATA || packet[3] == NB_LDATA;
    const uint32_t end = MIN(data ? (uint32_t)NB_DATA_HEADER_BYTES : length, bytes);
    uint32_t sum = 0;

    put16(packet, 0);
    for (uint32_t i = 0; i < end; i++) {
        sum += i % 2 ? packet[i] : (uint32_t)packet[i] << 8;
    }
    while (sum > 0xffff) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    put16(packet, ~sum & 0xffff);
}

static size_t take_packet(struct capture *capture, const uint8_t *data, size_t size)
{
    const unsigned flags = data[0];
    const uint32_t room = FRAME_MAX - HEADERS_MAX;
    const uint32_t asked = (uint32_t)data[1] << 8 | data[2];
    const uint32_t bytes = MIN(MIN(asked, room), (uint32_t)MIN(size - HEAD_BYTES, room));
    struct frame *frame = &capture->frames[capture->count++];
    const uint32_t headers = add_headers(capture, frame->bytes, flags, bytes);
    uint8_t *packet = frame->bytes + headers;

    memcpy(packet, data + HEAD_BYTES, bytes);
    if (bytes >= NB_HEADER_BYTES) {
        if (flags & OTHER_STREAM) {
            packet[flags & FROM_B ? 9 : 7] ^= 1;
        }
        if (flags & REPAIR) {
            repair(packet, bytes);
        }
    }
    frame->length = headers + bytes;
    frame->captured = flags & CUT ? headers + bytes / 2 : frame->length;
    return HEAD_BYTES + bytes;
}

static void run(struct frame *frame, uint32_t number)
{
    wtap_rec record = {0};

    record.rec_type = REC_TYPE_PACKET;
    record.presence_flags = WTAP_HAS_TS | WTAP_HAS_CAP_LEN;
    record.ts.secs = number;
    record.rec_header.packet_header.caplen = frame->captured;
    record.rec_header.packet_header.len = frame->length;
    record.rec_header.packet_header.pkt_encap = WTAP_ENCAP_RAW_IP;
    if (!frame->data.visited) {
        frame_data_init(&frame->data, number, &record, 0, 0);
    }
    tvbuff_t *tvb = tvb_new_real_data(frame->bytes, frame->captured, (int)frame->length);
    epan_dissect_run_with_taps(edt, WTAP_FILE_TYPE_SUBTYPE_UNKNOWN, &record, tvb, &frame->data, NULL);
    frame->data.visited = 1;
    epan_dissect_reset(edt);
}

static void begin(void)
{
    if (session != NULL && ++inputs < INPUTS_PER_SESSION) {
        return;
    }
    if (session != NULL) {
        epan_dissect_free(edt);
        epan_free(session);
    }
    inputs = frames_before = 0;
    session = epan_new(NULL, &provider);
    edt = epan_dissect_new(session, TRUE, TRUE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct capture *capture = calloc(1, sizeof(*capture));
    size_t at = 0;

    begin();
    while (at + HEAD_BYTES <= size && capture->count < PACKETS_MAX) {
        at += take_packet(capture, data + at, size - at);
    }
    for (uint32_t i = 0; i < capture->count; i++) {
        run(&capture->frames[i], frames_before + i + 1);
    }
    for (uint32_t i = capture->count; i-- > 0;) {
        run(&capture->frames[i], frames_before + i + 1);
    }
    for (uint32_t i = 0; i < capture->count; i++) {
        frame_data_destroy(&capture->frames[i].data);
    }
    frames_before += capture->count;
    free(capture);
    return 0;
}
