/*
 * Sorts the same words from three places where keys may lie, and says what is wrong with a list that cannot be sorted.
 *
 *   cc -std=c99 -I capi/include capi/examples/argsort.c -lorasort -o argsort
 */
#include "orasort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 5

static void insist(orasort_status status) {
    if (status != ORASORT_OK) {
        fprintf(stderr, "orasort: %s\n", orasort_status_text(status));
        exit(1);
    }
}

/* Keys anywhere in memory. */
static void by_pointers(orasort_sorter *sorter) {
    const void *pointers[COUNT] = {"pear", "fig", "apple", "", "fig"};
    size_t lengths[COUNT];
    uint32_t rows[COUNT];
    int i;
    for (i = 0; i < COUNT; i++) lengths[i] = strlen((const char *)pointers[i]);
    {
        orasort_keys keys = orasort_keys_pointers(pointers, lengths, COUNT);
        insist(orasort_argsort_u32(sorter, &keys, ORASORT_STABLE, rows));
    }
    printf("pointers:");
    for (i = 0; i < COUNT; i++) printf(" %u:\"%s\"", (unsigned)rows[i], (const char *)pointers[rows[i]]);
    printf("\n");
}

/* Keys one behind the other, as in an Arrow column, the largest first. */
static void by_offsets(orasort_sorter *sorter) {
    const char *bytes = "pearfigapplefig";
    const uint32_t offsets[COUNT + 1] = {0, 4, 7, 12, 12, 15};
    orasort_keys keys = orasort_keys_arena32(bytes, strlen(bytes), offsets, COUNT);
    uint64_t rows[COUNT];
    int i;
    insist(orasort_argsort_u64(sorter, &keys, ORASORT_DESCENDING | ORASORT_STABLE, rows));
    printf("offsets, descending:");
    for (i = 0; i < COUNT; i++) printf(" %u", (unsigned)rows[i]);
    printf("\n");
}

/* Keys of one width: numbers, most significant byte first, so that their bytes order as they do. */
static void by_width(orasort_sorter *sorter) {
    const unsigned char numbers[COUNT][2] = {{1, 4}, {0, 200}, {1, 0}, {0, 0}, {2, 1}};
    orasort_keys keys = orasort_keys_fixed(numbers, sizeof numbers[0], COUNT);
    uint32_t rows[2];
    size_t found, i;
    insist(orasort_top_k(sorter, &keys, ORASORT_DEFAULT, 2, rows, &found));
    printf("the least two:");
    for (i = 0; i < found; i++) printf(" %d", numbers[rows[i]][0] * 256 + numbers[rows[i]][1]);
    printf("\n");
}

int main(void) {
    const uint32_t wrong[3] = {0, 9, 4};
    orasort_keys keys = orasort_keys_arena32("pear", 4, wrong, 2);
    uint32_t rows[2];
    orasort_sorter *sorter = orasort_sorter_new();
    by_pointers(sorter);
    by_offsets(sorter);
    by_width(sorter);
    orasort_sorter_free(sorter);
    printf("wrong offsets: %s\n", orasort_status_text(orasort_argsort_u32(NULL, &keys, ORASORT_DEFAULT, rows)));
    return 0;
}
