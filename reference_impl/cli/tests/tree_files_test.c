/* SPDX-License-Identifier: BSD-2-Clause */
/* What a sender of a tree finds beneath the paths that it was given, and what it opens. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "cli/tree/beneath.h"
#include "cli/tree/tree_files.h"

/* All tests work in a directory of their own, which is the working directory. */
static char place[] = "/tmp/tree-files-XXXXXX";

static void enter(void)
{
    memset(place + strlen(place) - 6, 'X', 6);
    CHECK(mkdtemp(place) != NULL && chdir(place) == 0);
}

static void leave(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", place);
    CHECK(chdir("/") == 0 && system(command) == 0); /* NOLINT(cert-env33-c) */
}

static void write_file(const char *path, const char *content)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content));
    close(fd);
}

static tree_files *open_paths(const char *const *paths, size_t count)
{
    netblt_failure failure = {0};
    tree_files *files = tree_files_open(paths, count, &failure);
    if (files == NULL)
        fprintf(stderr, "%s\n", failure.text);
    CHECK(files != NULL);
    return files;
}

static tree_files *open_path(const char *path)
{
    return open_paths(&path, 1);
}

static manifest *walk(tree_files *files)
{
    netblt_failure failure = {0};
    manifest *all = tree_files_walk(files, NULL, &failure);
    if (all == NULL)
        fprintf(stderr, "%s\n", failure.text);
    CHECK(all != NULL);
    return all;
}

static const manifest_entry *find(const manifest *all, const char *path)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (strcmp(all->entries[i].path, path) == 0)
            return &all->entries[i];
    return NULL;
}

static bool reads_as(const tree_files *files, const manifest_entry *entry, const char *wanted)
{
    char bytes[100] = "";
    int fd = tree_files_read(files, entry);
    ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof bytes - 1);
    if (fd >= 0)
        close(fd);
    return got == (ssize_t)strlen(wanted) && strcmp(bytes, wanted) == 0;
}

/* ---- walking ------------------------------------------------------------------------------------------------------
 */

static void a_tree_is_found_with_kinds_modes_times_and_targets(void)
{
    static const char *const wanted[] = {"t",          "t/a",      "t/a/empty", "t/a/\xff odd\nname",
                                         "t/a-before", "t/dangle", "t/file",    "t/out"};
    const struct timespec times[] = {{1, 1}, {-5, 123456789}};
    tree_files *files;
    manifest *all;
    enter();
    umask(0); /* that of the user would change the modes below */
    CHECK(mkdir("t", 0750) == 0 && mkdir("t/a", 0700) == 0 && mkdir("t/a/empty", 0500) == 0);
    write_file("t/a-before", "x");
    write_file("t/a/\xff odd\nname", "odd");
    write_file("t/file", "content");
    CHECK(chmod("t/file", 04751) == 0 && utimensat(AT_FDCWD, "t/file", times, 0) == 0);
    CHECK(symlink("nowhere/at all", "t/dangle") == 0 && symlink("/etc", "t/out") == 0);
    files = open_path("t/");
    all = walk(files);
    CHECK_EQUAL(all->count, sizeof wanted / sizeof *wanted);
    for (uint32_t i = 0; i < all->count; i++)
        CHECK(strcmp(all->entries[i].path, wanted[i]) == 0);
    CHECK_EQUAL(find(all, "t")->kind, ENTRY_DIRECTORY);
    CHECK_EQUAL(find(all, "t")->mode, 0750);
    CHECK_EQUAL(find(all, "t/a/empty")->mode, 0500);
    CHECK_EQUAL(find(all, "t/file")->kind, ENTRY_FILE);
    CHECK_EQUAL(find(all, "t/file")->mode, 04751);
    CHECK_EQUAL(find(all, "t/file")->size, 7);
    CHECK_EQUAL(find(all, "t/file")->mtime_s, -5);
    CHECK_EQUAL(find(all, "t/file")->mtime_ns, 123456789);
    CHECK_EQUAL(find(all, "t/out")->kind, ENTRY_LINK);
    CHECK(strcmp(find(all, "t/dangle")->target, "nowhere/at all") == 0);
    CHECK(reads_as(files, find(all, "t/a/\xff odd\nname"), "odd"));
    CHECK(reads_as(files, find(all, "t/file"), "content"));
    manifest_free(all);
    tree_files_close(files);
    leave();
}

static char skipped[200];

static void note_skipped(void *context, const char *path, const char *why)
{
    (void)context;
    CHECK(strlen(why) > 5);
    snprintf(skipped + strlen(skipped), sizeof skipped - strlen(skipped), "%s;", path);
}

static int keep_two(void *context, const manifest_entry *entry, netblt_failure *failure)
{
    unsigned *count = context;
    CHECK(entry->path[0] == 't');
    return ++*count <= 2 ? 0 : netblt_fail(failure, NETBLT_FAILURE_LOCAL, "enough");
}

static void what_is_no_file_and_what_receivers_keep_is_left_out_and_reported(void)
{
    unsigned count = 0;
    netblt_failure failure = {0};
    tree_files *files;
    manifest *all;
    enter();
    CHECK(mkdir("t", 0700) == 0 && mkfifo("t/fifo", 0600) == 0 && mkdir("t/.netblt-partial-1", 0700) == 0);
    write_file("t/.netblt-partial-1/x", "x");
    write_file("t/.netblt", "1");
    write_file("t/y", "2");
    files = open_path("t");
    all = tree_files_walk(files, &(tree_walk_how){.skipped = note_skipped}, &failure);
    CHECK(all != NULL);
    CHECK_EQUAL(all->count, 3);
    CHECK(find(all, "t/.netblt") != NULL && find(all, "t/y") != NULL);
    CHECK(strstr(skipped, "t/fifo;") != NULL && strstr(skipped, "t/.netblt-partial-1;") != NULL);
    CHECK_EQUAL(strlen(skipped), strlen("t/fifo;t/.netblt-partial-1;"));
    manifest_free(all);
    CHECK(tree_files_walk(files, &(tree_walk_how){.keep = keep_two, .context = &count}, &failure) == NULL);
    CHECK(strcmp(failure.text, "enough") == 0);
    tree_files_close(files);
    leave();
}

static void check_unreadable(const char *path)
{
    netblt_failure failure = {0};
    tree_files *files = open_path("t");
    CHECK(seteuid(geteuid() == 0 ? 65534 : geteuid()) == 0);
    CHECK(tree_files_walk(files, NULL, &failure) == NULL);
    CHECK(seteuid(getuid()) == 0);
    CHECK(strstr(failure.text, path) != NULL && strstr(failure.text, strerror(EACCES)) != NULL);
    tree_files_close(files);
}

static void what_cannot_be_read_is_named(void)
{
    enter();
    CHECK(chmod(".", 0755) == 0 && mkdir("t", 0755) == 0 && mkdir("t/d", 0) == 0);
    check_unreadable("t/d");
    CHECK(rmdir("t/d") == 0);
    write_file("t/secret", "x");
    CHECK(chmod("t/secret", 0) == 0);
    check_unreadable("t/secret");
    leave();
}

static void a_large_and_deep_tree_takes_few_descriptors(void)
{
    enum { DEPTH = 400, FILES = 2000 };
    struct rlimit limit;
    struct rlimit few = {.rlim_cur = 16};
    tree_files *files;
    manifest *all;
    char name[20];
    enter();
    for (int i = 0; i < DEPTH; i++)
        CHECK(mkdir("d", 0700) == 0 && chdir("d") == 0);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "f%d", i);
        write_file(name, name);
    }
    CHECK(chdir(place) == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0);
    few.rlim_max = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    files = open_path("d");
    all = walk(files);
    CHECK_EQUAL(all->count, DEPTH + FILES);
    for (uint32_t i = DEPTH; i < all->count; i++)
        CHECK(reads_as(files, &all->entries[i], strrchr(all->entries[i].path, '/') + 1));
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    manifest_free(all);
    tree_files_close(files);
    leave();
}

/* ---- holes --------------------------------------------------------------------------------------------------------
 */

static int make_sparse(const char *path, uint64_t size)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
    return fd;
}

static void check_holes(uint64_t size, const uint64_t *written, size_t count, const hole *wanted, uint32_t holes)
{
    int fd = make_sparse("sparse", size);
    tree_files *files;
    manifest *all;
    for (size_t i = 0; i < count; i++)
        CHECK(pwrite(fd, "x", 1, (off_t)written[i]) == 1);
    CHECK(fsync(fd) == 0);
    files = open_path("sparse");
    all = walk(files);
    CHECK_EQUAL(all->entries[0].hole_count, holes);
    for (uint32_t i = 0; i < holes; i++) {
        CHECK_EQUAL(all->entries[0].holes[i].first, wanted[i].first);
        CHECK_EQUAL(all->entries[0].holes[i].count, wanted[i].count);
    }
    manifest_free(all);
    tree_files_close(files);
    close(fd);
}

static bool has_holes(void)
{
    int fd = make_sparse("sparse", 10 * PIECE_BYTES);
    bool found = lseek(fd, 0, SEEK_DATA) < 0 && errno == ENXIO;
    close(fd);
    return found;
}

static void holes_are_whole_pieces(void)
{
    static const uint64_t written[] = {3 * PIECE_BYTES + 5, 4 * PIECE_BYTES, 8 * PIECE_BYTES - 1};
    static const hole some[] = {{0, 3}, {5, 2}, {8, 3}};
    static const hole all[] = {{0, 11}};
    static const uint64_t end[] = {10 * PIECE_BYTES + 99};
    static const hole but_end[] = {{0, 10}};
    static const hole whole_end[] = {{0, 10}};
    enter();
    if (has_holes()) {
        check_holes(10 * PIECE_BYTES + 100, written, 3, some, 3);
        check_holes(10 * PIECE_BYTES + 100, NULL, 0, all, 1);
        check_holes(10 * PIECE_BYTES + 100, end, 1, but_end, 1);
        check_holes(10 * PIECE_BYTES, NULL, 0, whole_end, 1);
        check_holes(1, NULL, 0, (const hole[]){{0, 1}}, 1);
        check_holes(1, (const uint64_t[]){0}, 1, NULL, 0);
    } else {
        puts("note: this file system stores no holes");
    }
    leave();
}

/* ---- paths that the user names --------------------------------------------------------------------------------------
 */

static void a_path_is_sent_under_its_last_part(void)
{
    static const char *const paths[] = {"one/deep/f", "one//two///", "way", "alias", "one/deep/."};
    static const char *const wanted[] = {"alias", "deep", "deep/f", "f", "two", "two/g", "way", "way/g"};
    tree_files *files;
    manifest *all;
    enter();
    CHECK(mkdir("one", 0700) == 0 && mkdir("one/deep", 0700) == 0 && mkdir("one/two", 0700) == 0);
    write_file("one/deep/f", "f");
    write_file("one/two/g", "g");
    CHECK(symlink("one/two", "way") == 0 && symlink("one/deep/f", "alias") == 0);
    files = open_paths(paths, 5);
    all = walk(files);
    CHECK_EQUAL(all->count, sizeof wanted / sizeof *wanted);
    for (uint32_t i = 0; i < all->count; i++)
        CHECK(strcmp(all->entries[i].path, wanted[i]) == 0);
    CHECK_EQUAL(find(all, "way")->kind, ENTRY_DIRECTORY);
    CHECK_EQUAL(find(all, "alias")->kind, ENTRY_FILE);
    CHECK(reads_as(files, find(all, "alias"), "f") && reads_as(files, find(all, "way/g"), "g"));
    CHECK(reads_as(files, find(all, "f"), "f") && reads_as(files, find(all, "deep/f"), "f"));
    manifest_free(all);
    tree_files_close(files);
    leave();
}

static void check_refused(const char *const *paths, size_t count, const char *text)
{
    netblt_failure failure = {0};
    CHECK(tree_files_open(paths, count, &failure) == NULL);
    if (strstr(failure.text, text) == NULL)
        fprintf(stderr, "%s\n", failure.text);
    CHECK(strstr(failure.text, text) != NULL);
}

static void paths_that_cannot_be_sent_are_refused(void)
{
    tree_files *files;
    netblt_failure failure = {0};
    enter();
    CHECK(mkdir("a", 0700) == 0 && mkdir("b", 0700) == 0 && mkfifo("fifo", 0600) == 0);
    CHECK(mkdir(".netblt-1", 0700) == 0);
    write_file("a/x", "1");
    write_file("b/x", "2");
    check_refused((const char *const[]){"a/x", "b/x"}, 2, "would both be sent as x");
    check_refused((const char *const[]){"a", "missing"}, 2, "missing");
    check_refused((const char *const[]){"fifo"}, 1, "fifo is neither a file nor a directory");
    check_refused((const char *const[]){"/"}, 1, "no name");
    check_refused((const char *const[]){""}, 1, "cannot read");
    check_refused((const char *const[]){"a/x/"}, 1, strerror(ENOTDIR));
    files = open_path(".netblt-1");
    CHECK(tree_files_walk(files, NULL, &failure) == NULL);
    tree_files_close(files);
    leave();
}

static void many_files_of_one_directory_take_one_descriptor(void)
{
    static const char *const paths[] = {"d/a", "d/b", "d/c"};
    const int *directories;
    tree_files *files;
    enter();
    CHECK(mkdir("d", 0700) == 0);
    for (int i = 0; i < 3; i++)
        write_file(paths[i], "x");
    files = open_paths(paths, 3);
    CHECK_EQUAL(tree_files_directories(files, &directories), 1);
    tree_files_close(files);
    leave();
}

static void what_is_exchanged_for_a_link_is_not_read(void)
{
    tree_files *files;
    manifest *all;
    enter();
    CHECK(mkdir("t", 0700) == 0 && mkdir("t/d", 0700) == 0 && mkdir("other", 0700) == 0);
    write_file("t/d/f", "mine");
    CHECK(mkdir("t/h", 0700) == 0);
    write_file("t/h/f", "mine");
    write_file("t/g", "mine");
    write_file("other/f", "secret");
    files = open_path("t");
    all = walk(files);
    CHECK(rename("t/d", "t/e") == 0 && symlink("../other", "t/d") == 0);
    CHECK(unlink("t/g") == 0 && symlink("e/f", "t/g") == 0);
    CHECK(rename("t/h", "t/i") == 0 && symlink("e", "t/h") == 0);
    for (int always = 0; always < 2; always++) {
        beneath_walk_always(always == 1);
        CHECK(tree_files_read(files, find(all, "t/d/f")) < 0);
        CHECK(tree_files_read(files, find(all, "t/g")) < 0);
        CHECK(tree_files_read(files, find(all, "t/h/f")) < 0);
    }
    beneath_walk_always(false);
    manifest_free(all);
    tree_files_close(files);
    leave();
}

/* ---- netblt listen --------------------------------------------------------------------------------------------------
 */

static void check_beneath(int root, const char *name, const char *path, const char *content)
{
    netblt_failure failure = {0};
    tree_files *files = tree_files_open_beneath(root, name, &failure);
    manifest *all = files == NULL ? NULL : tree_files_walk(files, NULL, &failure);
    if (all == NULL)
        fprintf(stderr, "%s: %s\n", name, failure.text);
    CHECK(all != NULL);
    if (path != NULL)
        CHECK(find(all, path) != NULL && reads_as(files, find(all, path), content));
    CHECK(find(all, "") == NULL);
    manifest_free(all);
    tree_files_close(files);
}

static void a_name_is_opened_beneath_a_directory_only(void)
{
    static const char *const refused[] = {"out", "out/f", "up/other/f", "missing", "in/f/x"};
    netblt_failure failure;
    int root;
    enter();
    CHECK(mkdir("root", 0700) == 0 && mkdir("root/in", 0700) == 0 && mkdir("other", 0700) == 0);
    write_file("root/in/f", "inner");
    write_file("other/f", "secret");
    CHECK(symlink("in", "root/way") == 0 && symlink("../other", "root/out") == 0 && symlink("..", "root/up") == 0);
    root = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    CHECK(root >= 0);
    for (int always = 0; always < 2; always++) {
        beneath_walk_always(always == 1);
        check_beneath(root, "", "in/f", "inner");
        check_beneath(root, ".", "in/f", "inner");
        check_beneath(root, "in", "in/f", "inner");
        check_beneath(root, "in/f", "f", "inner");
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
            CHECK(tree_files_open_beneath(root, refused[i], &failure) == NULL);
    }
    beneath_walk_always(false);
    check_beneath(root, "way", "way/f", "inner");
    check_beneath(root, "way/f", "f", "inner");
    close(root);
    leave();
}

int main(void)
{
    RUN(a_tree_is_found_with_kinds_modes_times_and_targets);
    RUN(what_is_no_file_and_what_receivers_keep_is_left_out_and_reported);
    RUN(what_cannot_be_read_is_named);
    RUN(a_large_and_deep_tree_takes_few_descriptors);
    RUN(holes_are_whole_pieces);
    RUN(a_path_is_sent_under_its_last_part);
    RUN(paths_that_cannot_be_sent_are_refused);
    RUN(many_files_of_one_directory_take_one_descriptor);
    RUN(what_is_exchanged_for_a_link_is_not_read);
    RUN(a_name_is_opened_beneath_a_directory_only);
    return 0;
}
