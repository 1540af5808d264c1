/* SPDX-License-Identifier: BSD-2-Clause */
/* Replays files of a corpus through a fuzz target, without libFuzzer. */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

/* Runs a fuzz target on files and on all files of folders, with any compiler: what was found once is tried for ever. */

static unsigned long replayed;

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    long size = ftell(file);
    if (size < 0 || fseek(file, 0, SEEK_SET) != 0) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    if (data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    replayed++;
}

static void replay(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) {
        replay_file(path);
        return;
    }
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char inside[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        replay(inside);
    }
    if (folder != NULL)
        closedir(folder);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    if (replayed == 0) {
        fprintf(stderr, "usage: %s FILE-OR-FOLDER...; nothing was replayed\n", argv[0]);
        return 2;
    }
    printf("ok %lu inputs\n", replayed);
    return 0;
}
