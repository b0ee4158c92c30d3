// Boost's string_sort, the one sort of strings in C++ that Debian has a package of (libboost-dev), on the keys of a file
// that `orasort-bench dump` wrote. Prints ns of CPU time per key, the least of the rounds.
//
// c++ -O3 -march=native -o spreadsort spreadsort.cpp && ./spreadsort FILE ROUNDS

#include <algorithm>
#include <boost/sort/spreadsort/string_sort.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string_view>
#include <vector>

namespace {

double thread_cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

struct byte_at {
    unsigned char operator()(std::string_view key, size_t place) const { return static_cast<unsigned char>(key[place]); }
};

struct length_of {
    size_t operator()(std::string_view key) const { return key.size(); }
};

} // namespace

int main(int count, char **arguments) {
    if (count != 3) {
        std::fprintf(stderr, "usage: spreadsort FILE ROUNDS\n");
        return 2;
    }
    std::ifstream file(arguments[1], std::ios::binary);
    std::uint64_t n = 0;
    file.read(reinterpret_cast<char *>(&n), sizeof n);
    std::vector<std::uint64_t> offsets(n + 1);
    file.read(reinterpret_cast<char *>(offsets.data()), static_cast<std::streamsize>(8 * offsets.size()));
    std::vector<char> bytes(offsets.back());
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file) {
        std::fprintf(stderr, "spreadsort: can't read %s\n", arguments[1]);
        return 2;
    }
    std::vector<std::string_view> keys;
    for (size_t row = 0; row < n; row++)
        keys.emplace_back(bytes.data() + offsets[row], offsets[row + 1] - offsets[row]);
    std::vector<std::string_view> right = keys;
    // The order of unsigned bytes, which is that of string_view.
    std::sort(right.begin(), right.end());
    double least = 1e300;
    for (int round = 0; round < std::atoi(arguments[2]); round++) {
        std::vector<std::string_view> sorted = keys;
        const double start = thread_cpu_ns();
        boost::sort::spreadsort::string_sort(sorted.begin(), sorted.end(), byte_at(), length_of(), std::less<>());
        least = std::min(least, thread_cpu_ns() - start);
        if (sorted != right) {
            std::fprintf(stderr, "spreadsort: wrong order\n");
            return 1;
        }
    }
    std::printf("%.1f\n", least / static_cast<double>(std::max<std::uint64_t>(n, 1)));
    return 0;
}
