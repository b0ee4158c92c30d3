// Sorts of zero-terminated strings in C++, each timed by itself with the CPU time of the whole process.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#ifdef WITH_TLX
#include <tlx/sort/strings.hpp>
#include <tlx/sort/strings/parallel_sample_sort.hpp>
#endif

namespace {

using String = const unsigned char *;

// Multikey quicksort with eight bytes cached beside each pointer, as Rantala's string sorts have it: partitions in
// three by the cached word, and loads the next word of what is equal.
namespace cached {

struct Item {
    std::uint64_t word;
    String string;
};

// The next eight bytes, the first at the top, zeros from the end of the string on.
inline std::uint64_t word_at(String string) {
    std::uint64_t word = 0;
    for (int byte = 0; byte < 8; byte++) {
        word |= static_cast<std::uint64_t>(string[byte]) << (56 - 8 * byte);
        if (string[byte] == 0)
            break;
    }
    return word;
}

inline bool ended(std::uint64_t word) { return (word & 0xff) == 0; }

inline bool less(const Item &a, const Item &b, std::size_t depth) {
    if (a.word != b.word)
        return a.word < b.word;
    if (ended(a.word))
        return false;
    return std::strcmp(reinterpret_cast<const char *>(a.string + depth + 8),
                       reinterpret_cast<const char *>(b.string + depth + 8)) < 0;
}

void insertion_sort(Item *first, std::size_t n, std::size_t depth) {
    for (std::size_t i = 1; i < n; i++) {
        const Item moving = first[i];
        std::size_t hole = i;
        for (; hole > 0 && less(moving, first[hole - 1], depth); hole--)
            first[hole] = first[hole - 1];
        first[hole] = moving;
    }
}

inline std::uint64_t median(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

std::uint64_t pivot_of(const Item *first, std::size_t n) {
    const auto word = [&](std::size_t place) { return first[place].word; };
    if (n < 256)
        return median(word(0), word(n / 2), word(n - 1));
    const std::size_t step = n / 8;
    return median(median(word(0), word(step), word(2 * step)), median(word(3 * step), word(4 * step), word(5 * step)),
                  median(word(6 * step), word(7 * step), word(n - 1)));
}

void sort(Item *first, std::size_t n, std::size_t depth) {
    while (n > 20) {
        const std::uint64_t pivot = pivot_of(first, n);
        // less | equal | not yet seen | greater
        std::size_t less_end = 0, seen = 0, greater = n;
        while (seen < greater) {
            const std::uint64_t word = first[seen].word;
            if (word < pivot)
                std::swap(first[less_end++], first[seen++]);
            else if (word > pivot)
                std::swap(first[seen], first[--greater]);
            else
                seen++;
        }
        sort(first, less_end, depth);
        sort(first + greater, n - greater, depth);
        first += less_end;
        n = greater - less_end;
        if (ended(pivot))
            return;
        depth += 8;
        for (std::size_t i = 0; i < n; i++)
            first[i].word = word_at(first[i].string + depth);
    }
    insertion_sort(first, n, depth);
}

void sort(String *strings, std::size_t n) {
    std::vector<Item> items(n);
    for (std::size_t i = 0; i < n; i++)
        items[i] = {word_at(strings[i]), strings[i]};
    sort(items.data(), n, 0);
    for (std::size_t i = 0; i < n; i++)
        strings[i] = items[i].string;
}

} // namespace cached

#ifdef WITH_TLX
// Sample sort on one thread of its own, without the parallel steps. `Small` is up to where it is left to tlx's multikey
// quicksort with caching.
template <std::size_t Small> struct Sequential : tlx::sort_strings_detail::PS5ParametersDefault {
    static const bool enable_parallel_sample_sort = false;
    static const std::size_t smallsort_threshold = Small;
};

template <typename Parameters> void sample_sort(String *strings, std::size_t n) {
    using namespace tlx::sort_strings_detail;
    using Set = CUCharStringSet;
    const Set set(strings, strings + n);
    auto shadow = set.allocate(n);
    PS5Context<Parameters> context(1);
    context.total_size = n;
    context.rest_size = n;
    context.enqueue(nullptr, StringShadowPtr<Set>(set, Set(shadow)), 0);
    context.threads_.loop_until_empty();
    Set::deallocate(shadow);
}
#endif

std::uint64_t process_cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1000000000ull * static_cast<std::uint64_t>(time.tv_sec) + static_cast<std::uint64_t>(time.tv_nsec);
}

} // namespace

// Sorts strings, and returns the CPU time that it took in ns; 0 if there is no such sort.
extern "C" std::uint64_t orasort_bench_sort(int algorithm, String *strings, std::size_t n) {
    const std::uint64_t start = process_cpu_ns();
    switch (algorithm) {
    case 0:
        cached::sort(strings, n);
        break;
#ifdef WITH_TLX
    case 1:
        tlx::sort_strings(strings, n);
        break;
    case 2:
        sample_sort<Sequential<64 << 10>>(strings, n);
        break;
    case 3:
        sample_sort<Sequential<~std::size_t{0}>>(strings, n);
        break;
#endif
    default:
        return 0;
    }
    return std::max<std::uint64_t>(process_cpu_ns() - start, 1);
}
