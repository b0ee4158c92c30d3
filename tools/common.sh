# What the measuring tools beside this file share: the programs they need, the counter of instructions, a throw-away
# server. To be sourced, not run. Exit codes of the tools: 0 goal met, 1 goal missed, 2 could not measure.

set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C PGSSLMODE=disable
PATH="$PATH:${CARGO_HOME:-${HOME:-/root}/.cargo}/bin:/usr/local/sbin:/usr/sbin:/sbin"
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# The only release that is compared with: names, defaults and costs differ in others.
readonly SYSBENCH_VERSION=1.0.20

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 2
}

# Prints the comment at the top of the tool: its manual.
usage() {
    awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0"
}

# Sets RQPS to the program: built from this tree unless the caller named one.
find_rqps() {
    if [[ -z ${RQPS:-} ]]; then
        (cd "$tools/.." && cargo build --release --quiet) || fail "can't build rqps: see above"
        RQPS=${CARGO_TARGET_DIR:-$tools/../target}/release/rqps
    fi
    RQPS=$(realpath "$RQPS")
    export RQPS
}

# Installs what is missing where it can, and insists on the right sysbench.
find_sysbench() {
    command -v sysbench >/dev/null || "$tools/debian-packages" || fail "no sysbench: install the package of that name"
    local version
    version=$(sysbench --version)
    [[ $version == "sysbench $SYSBENCH_VERSION"* ]] || fail "needs sysbench $SYSBENCH_VERSION, and here is $version"
}

# Sets counter: `perf` where the host lets programs read the processor's counters, else `valgrind`.
choose_counter() {
    if perf stat -x, -o "$scratch/probe" -e instructions:u -- true 2>/dev/null && perf_sum "$scratch/probe" u >/dev/null
    then
        counter=perf
    elif command -v valgrind >/dev/null; then
        counter=valgrind
    else
        fail "no way to count instructions: the processor's counters can't be read with perf, and valgrind is not" \
            "installed (tools/debian-packages installs it)"
    fi
    export counter
}

# Says which counter it is.
counter_name() {
    case $counter in
    perf) echo "the processor's, read with perf stat" ;;
    valgrind) echo "valgrind's cachegrind, since perf can't read the processor's counters here" ;;
    esac
}

# The sum of one mode's instructions in what `perf stat -x,` wrote; processors with two kinds of cores give two lines.
perf_sum() { # file, u or k
    awk -F, -v mode="$2" '
        $3 ~ "[:/]" mode "$" && $1 ~ /^[0-9]+$/ { sum += $1; found = 1 }
        END { if (!found || !sum) exit 1; printf "%.0f\n", sum }' "$1"
}

readonly CACHEGRIND=(--tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null --trace-children=no)

# The total in logs of cachegrind; 1 when there is none.
cachegrind_sum() { # file...
    awk '/I +refs:/ { n = $NF; gsub(",", "", n); sum += n; found = 1 } END { if (!found) exit 1; printf "%.0f\n", sum }' "$@"
}

# A directory that goes when the tool ends. The server's user may enter it.
make_scratch() {
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/rqps-${0##*/}.XXXXXX")
    chmod 755 "$scratch"
    trap 'rm -rf "$scratch"' EXIT
    export scratch
}

# The DBMS of a build that has a version: the part of its name before the hyphen.
dbms_of() { # postgres-18, mysql-8.0.31, mariadb-11.4.5, or the directory of a Postgres
    case $1 in
    mysql-* | mariadb-*) echo "${1%%-*}" ;;
    *) echo postgres ;;
    esac
}

# A server whose sessions do what they are told and nothing else: no vacuum, no waiting for disks, no checkpoint where
# it can be had.
quiet_config() { # DBMS, Postgres unless given
    if [[ ${1:-postgres} != postgres ]]; then
        cat >"$scratch/quiet.cnf" <<'CONF'
[mysqld]
innodb_buffer_pool_size = 512M
innodb_flush_log_at_trx_commit = 0
innodb_doublewrite = 0
skip_log_bin
character_set_server = latin1
collation_server = latin1_swedish_ci
CONF
        echo "$scratch/quiet.cnf"
        return
    fi
    cat >"$scratch/quiet.conf" <<'CONF'
shared_buffers = 512MB
fsync = off
synchronous_commit = off
autovacuum = off
checkpoint_timeout = 1h
max_wal_size = 16GB
max_parallel_workers_per_gather = 0
jit = off
CONF
    echo "$scratch/quiet.conf"
}

# Where a build is; obtains it when need be.
build_dir() { # postgres-18, or a directory
    if [[ $1 == */* ]]; then
        realpath "$1"
    else
        "$RQPS" install "${1%%-*}" "${1#*-}" --json | sed -n 's/^ *"root": "\(.*\)",*$/\1/p'
    fi
}

# Sets sysbench_at to the options that lead sysbench to the server of the environment. Without uniform keys it would
# draw skewed ones, in `prepare` as well as in `run`.
set_sysbench_at() {
    if [[ ${RQPS_DBMS:-postgres} != postgres ]]; then
        sysbench_at=(--db-driver=mysql --mysql-socket="$MYSQL_UNIX_PORT" --mysql-user="$RQPS_USER"
            --mysql-password="$RQPS_PASSWORD" --mysql-db="$RQPS_DATABASE" --mysql-ssl=off --rand-type=uniform)
        return
    fi
    sysbench_at=(--db-driver=pgsql --pgsql-host="$PGHOST" --pgsql-port="$PGPORT" --pgsql-user="$PGUSER"
        --pgsql-password="$PGPASSWORD" --pgsql-db="$PGDATABASE" --rand-type=uniform)
}

# Runs a command whose output matters only when it fails.
quietly() {
    "$@" >"$scratch/output" 2>&1 || {
        cat "$scratch/output" >&2
        fail "this failed: $*"
    }
}

# Mean or median of the numbers on standard input, one a line.
mean() { awk '{ s += $1 } END { printf "%.3f\n", s / NR }'; }
median() { sort -g | awk '{ v[NR] = $1 } END { printf "%.3f\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
# How far they lie apart, in percent of their mean.
spread() {
    awk 'NR == 1 { low = high = $1 } { s += $1; if ($1 < low) low = $1; if ($1 > high) high = $1 }
        END { printf "%.2f\n", s ? (high - low) / (s / NR) * 100 : 0 }'
}

# What one event costs: the difference of two counts over the number of events between them. Fails when the counter
# stood still.
per_event() { # count of the short run, of the long run, events between them
    awk -v few="$1" -v many="$2" -v n="$3" 'BEGIN { if (many <= few) exit 1; printf "%.3f\n", (many - few) / n }' ||
        fail "the counter stood still: $1 after the short run, $2 after the long one"
}
