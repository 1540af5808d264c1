/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts the data of a transfer together: packets into buffers, buffers into their order, each byte once.
 *
 * Wireshark's reassembly (fragment_add_seq_check) takes as long, 1.0 us a packet (dissector/bench/store.py), and keeps
 * the data of the file as long as the file is open. Here a buffer is freed when its turn has come, so that follow
 * stream and export objects work without the preference that keeps buffers for the tree. A buffer that was OK'd and is
 * not complete in the capture is handed out too, which Wireshark's reassembly cannot. */
#ifndef NETBLT_ASSEMBLY_H
#define NETBLT_ASSEMBLY_H

#include "connection/record.h"
#include "decode/parse.h"

/* A buffer whose turn it is. */
struct nb_whole {
    struct nb_whole *next;
    uint32_t buffer;
    bool last;       /* the transfer's last buffer (L was set) */
    bool incomplete; /* the capture lacks packets of it, or whole buffers before it */
    uint32_t bytes;
    uint8_t *data;
    unsigned packets;
    uint32_t *frames; /* of each packet, in the order of the data */
};

/* One walk over the capture, frame by frame. A walk that goes back to an earlier packet restarts. */
struct nb_assembler {
    wmem_allocator_t *pool; /* made when first needed */
    wmem_map_t *transfers;  /* by stream */
    uint64_t newest;        /* frame and key of the packet before */
};

/* Takes the packet; gives the buffers whose turn came with it, in order, allocated in `scope`; NULL when there are
 * none. A buffer that was OK'd although the capture lacks packets of it comes with what there is. */
struct nb_whole *nb_assemble(struct nb_assembler *assembler, wmem_allocator_t *scope, const struct nb_packet *packet,
                             const struct nb_record *record);

/* Forgets everything. */
void nb_assembler_free(struct nb_assembler *assembler);

#endif
