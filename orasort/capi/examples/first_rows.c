/*
 * Pulls the first rows of a million keys, which takes a part of the time that sorting them takes, and drops the rest.
 *
 *   cc -std=c99 -I capi/include capi/examples/first_rows.c -lorasort -o first_rows
 */
#include "orasort.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT 1000000
#define WIDTH 16
#define PULLED 10

/* Text such as "order-0000271828": ten bytes that all have in common at most, then a number. */
static void fill(char *bytes) {
    uint32_t number = 1;
    char key[WIDTH + 1];
    size_t i, j;
    for (i = 0; i < COUNT; i++) {
        number = number * 1664525u + 1013904223u;
        snprintf(key, sizeof key, "order-%010u", (unsigned)number);
        for (j = 0; j < WIDTH; j++) bytes[i * WIDTH + j] = key[j];
    }
}

int main(void) {
    char *bytes = (char *)malloc((size_t)COUNT * WIDTH);
    orasort_keys keys;
    orasort_iter *iter = NULL;
    orasort_status status;
    uint32_t rows[PULLED];
    size_t found, i;
    if (bytes == NULL) return 1;
    fill(bytes);
    keys = orasort_keys_fixed(bytes, WIDTH, COUNT);
    status = orasort_iter_new(&keys, ORASORT_DEFAULT, &iter);
    if (status == ORASORT_OK) status = orasort_iter_next(iter, rows, PULLED, &found);
    if (status != ORASORT_OK) {
        fprintf(stderr, "orasort: %s\n", orasort_status_text(status));
        return 1;
    }
    for (i = 0; i < found; i++) printf("%.*s\n", WIDTH, bytes + (size_t)rows[i] * WIDTH);
    orasort_iter_free(iter);
    free(bytes);
    return 0;
}
