/*
 * Holds the library against qsort and memcmp: every layout, both row types, all flags, the first rows and the iterator,
 * with a sorter and without, then calls that are wrong. Prints what it found wrong, and "N lists checked".
 */
#include "orasort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 600
#define KEY_MAX 24
#define ROUNDS 60

static int failures = 0;
static int lists = 0;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("line %d: %s\n", __LINE__, #condition);                                                             \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

/* The keys under test: in an arena, and where each begins. */
static unsigned char arena[ROWS_MAX * KEY_MAX];
static uint32_t offsets32[ROWS_MAX + 1];
static uint64_t offsets64[ROWS_MAX + 1];
static const void *pointers[ROWS_MAX];
static size_t lengths[ROWS_MAX];
static size_t count;
static uint32_t want[ROWS_MAX];

static uint32_t random_number(void) {
    static uint64_t state = 42;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

/* Keys with common prefixes, zero bytes, duplicates and empty ones; of one width if `width` is not 0. */
static void make_keys(size_t width) {
    size_t row, byte, end = 0;
    uint32_t letters = 2 + random_number() % 200;
    uint32_t prefix = random_number() % KEY_MAX;
    count = random_number() % (ROWS_MAX + 1);
    for (row = 0; row < count; row++) {
        size_t length = width ? width : random_number() % (KEY_MAX + 1);
        offsets32[row] = (uint32_t)end;
        offsets64[row] = end;
        pointers[row] = length ? arena + end : NULL;
        lengths[row] = length;
        for (byte = 0; byte < length; byte++)
            arena[end + byte] = (unsigned char)(byte < prefix ? 7 : random_number() % letters);
        end += length;
    }
    offsets32[count] = (uint32_t)end;
    offsets64[count] = end;
}

static int order_of_keys(uint32_t a, uint32_t b) {
    size_t common = lengths[a] < lengths[b] ? lengths[a] : lengths[b];
    int order = common ? memcmp(pointers[a], pointers[b], common) : 0;
    return order ? order : (lengths[a] > lengths[b]) - (lengths[a] < lengths[b]);
}

static int ascending(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int order = order_of_keys(left, right);
    return order ? order : (left > right) - (left < right);
}

static int descending(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int order = order_of_keys(right, left);
    return order ? order : (left > right) - (left < right);
}

/* Whether `n` rows are the first of the order: the very rows if stable, else each with an equal key, and none twice. */
static int is_right(const uint32_t *rows, size_t n, int stable) {
    static unsigned char seen[ROWS_MAX];
    size_t place;
    memset(seen, 0, sizeof seen);
    for (place = 0; place < n; place++) {
        if (rows[place] >= count || seen[rows[place]]++) return 0;
        if (stable ? rows[place] != want[place] : order_of_keys(rows[place], want[place]) != 0) return 0;
    }
    return 1;
}

static void check_list(orasort_sorter *sorter, const orasort_keys *keys, orasort_flags flags) {
    static uint32_t rows[ROWS_MAX + 1];
    static uint64_t wide[ROWS_MAX];
    int stable = (flags & ORASORT_STABLE) != 0;
    size_t place, k = random_number() % (ROWS_MAX + 1), found = 99, pulled = 0, capacity = 1 + random_number() % 50;
    orasort_iter *iter = NULL;

    for (place = 0; place < count; place++) want[place] = (uint32_t)place;
    qsort(want, count, sizeof want[0], flags & ORASORT_DESCENDING ? descending : ascending);

    rows[count] = 4711;
    CHECK(orasort_argsort_u32(sorter, keys, flags, rows) == ORASORT_OK);
    CHECK(is_right(rows, count, stable));
    CHECK(rows[count] == 4711);

    CHECK(orasort_argsort_u64(sorter, keys, flags, wide) == ORASORT_OK);
    for (place = 0; place < count; place++) rows[place] = (uint32_t)wide[place];
    CHECK(is_right(rows, count, stable));

    CHECK(orasort_top_k(sorter, keys, flags, k, rows, &found) == ORASORT_OK);
    CHECK(found == (k < count ? k : count));
    CHECK(is_right(rows, found, stable));

    CHECK(orasort_iter_new(keys, flags, &iter) == ORASORT_OK);
    do {
        if (pulled + capacity > count) capacity = count - pulled + 1;
        CHECK(orasort_iter_next(iter, rows + pulled, capacity, &found) == ORASORT_OK);
        pulled += found;
    } while (found == capacity && pulled <= count);
    CHECK(pulled == count);
    CHECK(is_right(rows, pulled, stable));
    CHECK(orasort_iter_next(iter, rows, 5, &found) == ORASORT_OK && found == 0);
    orasort_iter_free(iter);

    /* Dropped before its end. */
    CHECK(orasort_iter_new(keys, flags, &iter) == ORASORT_OK);
    CHECK(orasort_iter_next(iter, rows, count / 3, &found) == ORASORT_OK && found == count / 3);
    orasort_iter_free(iter);
    lists++;
}

static void check_lists(orasort_sorter *sorter) {
    int round;
    for (round = 0; round < ROUNDS; round++) {
        orasort_flags flags = (orasort_flags)round % 4;
        size_t width = 1 + random_number() % KEY_MAX;
        orasort_keys keys;
        make_keys(0);
        keys = orasort_keys_pointers(pointers, lengths, count);
        check_list(sorter, &keys, flags);
        keys = orasort_keys_arena32(arena, offsets32[count], offsets32, count);
        check_list(NULL, &keys, flags);
        keys = orasort_keys_arena64(arena, offsets32[count], offsets64, count);
        check_list(sorter, &keys, flags);
        make_keys(width);
        keys = orasort_keys_fixed(arena, width, count);
        check_list(round % 2 ? sorter : NULL, &keys, flags);
    }
}

/* Each wrong call says what is wrong, and writes nothing. */
static void check_wrong_calls(void) {
    const void *one[2] = {"a", NULL};
    size_t long_ones[2] = {1, 1}, huge[1] = {SIZE_MAX};
    uint32_t falling[3] = {0, 2, 1}, beyond[3] = {0, 1, 3}, numbers[3] = {0, 1, 2};
    uint32_t rows[2] = {8, 9};
    uint64_t wide[2];
    size_t found = 77;
    orasort_iter *iter = NULL;
    orasort_keys keys = orasort_keys_arena32("ab", 2, numbers, 2);

    CHECK(orasort_argsort_u32(NULL, NULL, 0, rows) == ORASORT_ERROR_NULL);
    CHECK(orasort_argsort_u32(NULL, &keys, 0, NULL) == ORASORT_ERROR_NULL);
    CHECK(orasort_argsort_u32(NULL, &keys, 4, rows) == ORASORT_ERROR_FLAGS);
    CHECK(orasort_argsort_u64(NULL, &keys, 0x80000000u, wide) == ORASORT_ERROR_FLAGS);
    CHECK(orasort_top_k(NULL, &keys, 0, 1, rows, NULL) == ORASORT_ERROR_NULL);
    CHECK(orasort_iter_new(&keys, 0, NULL) == ORASORT_ERROR_NULL);
    CHECK(orasort_iter_new(&keys, 8, &iter) == ORASORT_ERROR_FLAGS && iter == NULL);
    CHECK(orasort_iter_next(NULL, rows, 2, &found) == ORASORT_ERROR_NULL);

    keys = orasort_keys_arena32("ab", 2, falling, 2);
    CHECK(orasort_argsort_u32(NULL, &keys, 0, rows) == ORASORT_ERROR_OFFSETS);
    keys = orasort_keys_arena32("ab", 2, beyond, 2);
    CHECK(orasort_argsort_u32(NULL, &keys, 0, rows) == ORASORT_ERROR_OFFSETS);
    keys = orasort_keys_arena32("ab", 2, NULL, 2);
    CHECK(orasort_argsort_u32(NULL, &keys, 0, rows) == ORASORT_ERROR_NULL);
    keys = orasort_keys_arena64("ab", 2, (const uint64_t *)(const void *)((const char *)offsets64 + 1), 2);
    CHECK(orasort_argsort_u32(NULL, &keys, 0, rows) == ORASORT_ERROR_LAYOUT);
    keys = orasort_keys_pointers(one, long_ones, 2);
    CHECK(orasort_argsort_u32(NULL, &keys, 0, rows) == ORASORT_ERROR_NULL);
    keys = orasort_keys_pointers(one, huge, 1);
    CHECK(orasort_argsort_u32(NULL, &keys, 0, rows) == ORASORT_ERROR_SIZE);
    keys = orasort_keys_fixed("ab", 0, 2);
    CHECK(orasort_argsort_u32(NULL, &keys, 0, rows) == ORASORT_ERROR_LAYOUT);
    keys = orasort_keys_fixed("ab", SIZE_MAX, 2);
    CHECK(orasort_argsort_u32(NULL, &keys, 0, rows) == ORASORT_ERROR_SIZE);
    keys = orasort_keys_fixed("ab", 1, 2);
    keys.layout = 77;
    CHECK(orasort_argsort_u32(NULL, &keys, 0, rows) == ORASORT_ERROR_LAYOUT);
    CHECK(rows[0] == 8 && rows[1] == 9 && found == 77);

    /* No keys, so no arrays either. */
    keys = orasort_keys_pointers(NULL, NULL, 0);
    CHECK(orasort_argsort_u32(NULL, &keys, 0, NULL) == ORASORT_OK);
    CHECK(orasort_top_k(NULL, &keys, 0, 3, NULL, &found) == ORASORT_OK && found == 0);
    /* Null handles may be freed. */
    orasort_sorter_free(NULL);
    orasort_sorter_shrink(NULL);
    orasort_iter_free(NULL);
    CHECK(orasort_sorter_scratch_bytes(NULL) == 0);
    CHECK(strcmp(orasort_status_text(ORASORT_OK), "done") == 0);
    CHECK(strstr(orasort_status_text(ORASORT_ERROR_OFFSETS), "offsets") != NULL);
    CHECK(strstr(orasort_status_text(-5), "no status") != NULL);
    CHECK(orasort_version()[0] >= '0' && orasort_version()[0] <= '9');
}

int main(void) {
    orasort_sorter *sorter = orasort_sorter_new();
    check_lists(sorter);
    CHECK(orasort_sorter_scratch_bytes(sorter) > 0);
    CHECK(orasort_sorter_scratch_bytes(sorter) <= 32 * ROWS_MAX + 4096);
    orasort_sorter_shrink(sorter);
    CHECK(orasort_sorter_scratch_bytes(sorter) == 0);
    check_lists(sorter);
    orasort_sorter_free(sorter);
    check_wrong_calls();
    printf("%d lists checked\n", lists);
    return failures != 0;
}
