/* SPDX-License-Identifier: BSD-2-Clause */
/* Doubly linked lists whose links lie in the items: they need no memory of their own, and removal takes constant time.
 */
#ifndef NETBLT_CORE_LIST_H
#define NETBLT_CORE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct nb_list;

/* Embedded in an item; zeroed when the item is in no list. An item is in at most one list by the same link, and must be
 * removed before it is freed or moved. */
struct nb_link {
    struct nb_link *next;
    struct nb_link *previous;
    struct nb_list *list; /* that the item is in, or NULL */
};

/* Zeroed when empty. It must not move while it holds items. */
struct nb_list {
    struct nb_link *first;
    struct nb_link *last;
};

/* Use the functions that NB_LIST_OF() makes. */
void nb_list_append_link(struct nb_list *list, struct nb_link *link);
void nb_list_remove_link(struct nb_link *link);

static inline bool nb_link_is_listed(const struct nb_link *link)
{
    return link->list != NULL;
}

static inline bool nb_list_is_empty(const struct nb_list *list)
{
    return list->first == NULL;
}

/* Makes typed functions NAME_... for lists of `type` that are linked by its member `member`, a struct nb_link:
 *   NAME_first(list), NAME_last(list)  an item, or NULL
 *   NAME_next(item)                    the one after it, or NULL; an item may be removed once the next one is known
 *   NAME_append(list, item)            the item must be in no list by this link
 *   NAME_remove(item)                  does nothing when the item is in no list
 *   NAME_take(list)                    removes the first item and returns it, or NULL */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type cannot be in parentheses there */
#define NB_LIST_OF(name, type, member)                                                                                 \
    __attribute__((unused)) static inline type *name##_item(const struct nb_link *link)                                \
    {                                                                                                                  \
        return link == NULL ? NULL : (type *)(void *)((char *)(size_t)link - offsetof(type, member));                  \
    }                                                                                                                  \
    __attribute__((unused)) static inline type *name##_first(const struct nb_list *list)                               \
    {                                                                                                                  \
        return name##_item(list->first);                                                                               \
    }                                                                                                                  \
    __attribute__((unused)) static inline type *name##_last(const struct nb_list *list)                                \
    {                                                                                                                  \
        return name##_item(list->last);                                                                                \
    }                                                                                                                  \
    __attribute__((unused)) static inline type *name##_next(const type *item)                                          \
    {                                                                                                                  \
        return name##_item(item->member.next);                                                                         \
    }                                                                                                                  \
    __attribute__((unused)) static inline void name##_append(struct nb_list *list, type *item)                         \
    {                                                                                                                  \
        nb_list_append_link(list, &item->member);                                                                      \
    }                                                                                                                  \
    __attribute__((unused)) static inline void name##_remove(type *item)                                               \
    {                                                                                                                  \
        nb_list_remove_link(&item->member);                                                                            \
    }                                                                                                                  \
    __attribute__((unused)) static inline type *name##_take(struct nb_list *list)                                      \
    {                                                                                                                  \
        type *item = name##_first(list);                                                                               \
        if (item != NULL)                                                                                              \
            name##_remove(item);                                                                                       \
        return item;                                                                                                   \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
