/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target over saved inputs, without libFuzzer: files, or all files
 * of directories, given as arguments. One TAP line each.
 */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

static int inputs;

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int one(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *f = fopen(path, "rb");
    size_t size;

    if (!f) {
        perror(path);
        return 1;
    }
    size = fread(data, 1, sizeof(data), f);
    fclose(f);
    LLVMFuzzerTestOneInput(data, size);
    /* What isn't so has aborted. */
    printf("ok %d - %s\n", ++inputs, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    fflush(stdout);
    return 0;
}

static int all_of(const char *dir)
{
    struct dirent **entries;
    int n = scandir(dir, &entries, NULL, by_name), bad = 0;
    char path[4096];

    if (n < 0) {
        perror(dir);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);
            bad |= one(path);
        }
        free(entries[i]);
    }
    free(entries);
    return bad;
}

int main(int argc, char **argv)
{
    int bad = 0;

    for (int i = 1; i < argc; i++) {
        struct stat st;

        if (stat(argv[i], &st)) {
            perror(argv[i]);
            bad = 1;
        } else {
            bad |= S_ISDIR(st.st_mode) ? all_of(argv[i]) : one(argv[i]);
        }
    }
    printf("1..%d\n", inputs);
    return bad || !inputs;
}
