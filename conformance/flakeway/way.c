/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One direction of the flakeway: its rates, its link, its path, and the packets that rules hold in it. */
#include "way.h"

#include <stdio.h>

void fw_way_reset(fw_way *way)
{
    fw_link_reset(&way->link);
    snprintf(way->queue_text, sizeof way->queue_text, "queue %upackets", FW_QUEUE_DEFAULT_PACKETS);
    way->loss = way->duplicate = way->reorder = way->corrupt = (fw_rate){0};
    way->latency_us = way->jitter_us = 0;
    fw_path_reset(&way->path);
}
