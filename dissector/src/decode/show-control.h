/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows CONTROL packets. */
#ifndef NETBLT_CONTROL_H
#define NETBLT_CONTROL_H

#include "decode/view.h"

/* Shows the messages of a CONTROL packet and adds them to the Info column. */
void nb_show_control(const struct nb_view *view);

#endif
