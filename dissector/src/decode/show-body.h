/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows what follows the header of a packet. */
#ifndef NETBLT_SHOW_BODY_H
#define NETBLT_SHOW_BODY_H

#include "decode/view.h"

/* For a sound packet. */
void nb_show_body(const struct nb_view *view);

#endif
