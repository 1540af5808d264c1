/* SPDX-License-Identifier: BSD-2-Clause */
/* Doubly linked lists whose links lie in the items. */
#include "base/list.h"

#include <assert.h>

void nb_list_append_link(struct nb_list *list, struct nb_link *link)
{
    assert(link->list == NULL);
    *link = (struct nb_link){.previous = list->last, .list = list};
    if (list->last == NULL)
        list->first = link;
    else
        list->last->next = link;
    list->last = link;
}

void nb_list_remove_link(struct nb_link *link)
{
    struct nb_list *list = link->list;
    if (list == NULL)
        return;
    if (link->previous == NULL)
        list->first = link->next;
    else
        link->previous->next = link->next;
    if (link->next == NULL)
        list->last = link->previous;
    else
        link->next->previous = link->previous;
    *link = (struct nb_link){0};
}
