//! Short files of formats, written to their grammars.

use rqps_import::Format;

pub const HAMMERDB: &str = "HammerDB CLI v4.9\nVuser 1:4 Active Virtual Users configured\n\
    Vuser 1:TEST RESULT : System achieved 42332 NOPM from 97427 PostgreSQL TPM\n";
/// Before 4.0.
pub const HAMMERDB_OLD: &str = "Vuser 1:TEST RESULT : System achieved 97427 PostgreSQL TPM at 42332 NOPM\n";

pub const BENCHBASE: &str = r#"{
    "Start timestamp (milliseconds)": 1700000000000,
    "Current Timestamp (milliseconds)": 1700000060000,
    "Elapsed Time (nanoseconds)": 60000000000,
    "DBMS Type": "POSTGRES",
    "DBMS Version": "16.1 (Debian 16.1-1)",
    "Benchmark Type": "tpcc",
    "Final State": "EXIT",
    "Measured Requests": 60000,
    "scalefactor": "10",
    "terminals": "8",
    "isolation": "TRANSACTION_SERIALIZABLE",
    "Latency Distribution": {
        "95th Percentile Latency (microseconds)": 9000,
        "Maximum Latency (microseconds)": 40000,
        "Median Latency (microseconds)": 3000,
        "99th Percentile Latency (microseconds)": 12000,
        "Average Latency (microseconds)": 4000
    },
    "Throughput (requests/second)": 1000.0,
    "Goodput (requests/second)": 995.5
}
"#;

pub const YCSB: &str = "java -cp core.jar site.ycsb.Client -threads 8 -db site.ycsb.db.JdbcDBClient\n\
    [OVERALL], RunTime(ms), 10000\n[OVERALL], Throughput(ops/sec), 1000.0\n\
    [READ], Operations, 9500\n[READ], AverageLatency(us), 700.5\n[READ], 99thPercentileLatency(us), 2100\n\
    [READ], Return=OK, 9500\n\
    [UPDATE], Operations, 500\n[UPDATE], 99thPercentileLatency(us), 4100\n[Intended-READ], Operations, 9500\n";

pub const GO_YCSB: &str = "READ - Takes(s): 10.0, Count: 1, OPS: 0.1, Avg(us): 9, 99th(us): 9\n\
    Run finished, takes 10.01s\n\
    READ   - Takes(s): 10.0, Count: 9000, OPS: 900.0, Avg(us): 105, Min(us): 50, Max(us): 900, 99th(us): 310\n\
    UPDATE - Takes(s): 10.0, Count: 1000, OPS: 100.0, Avg(us): 205, Min(us): 50, Max(us): 900, 99th(us): 510\n";

pub const DB_BENCH: &str = "ops_sec\tmb_sec\tc_wsecs\tc_csecs\ttest\tdate\tversion\tjob_id\tgithash\n\
    1000\t4.0\t33\t30\tfillseq\t2025-12-22T22:23:46\t9.8.4\t\tabc\n900\t3.9\t495\t33\tfillseq\t2025-12-23T22:23:46\t10.3.4\t\tdef\n";

pub const DB_BENCH_LOG: &str = "RocksDB:    version 9.8.4\nreadrandom   :       3.456 micros/op 289351 ops/sec 10.000 seconds \
    2893510 operations;   32.0 MB/s\n";

pub const FIO: &str = "O_DIRECT with fsync=1 for block size 16K\nsync_latency: (g=0): rw=randwrite, bs=(R) 16.0KiB-16.0KiB, \
    (W) 16.0KiB-16.0KiB, (T) 16.0KiB-16.0KiB, ioengine=psync, iodepth=1\n\
    fio-3.36\n\
    sync_latency: (groupid=0, jobs=1): err= 0: pid=1\n\
    \x20 write: IOPS=1.2k, BW=18.8MiB/s (19.7MB/s)(188MiB/10000msec); 0 zone resets\n\
    \x20    lat (usec): min=19, max=25098, avg=22.60, stdev= 9.78\n\
    \x20   clat percentiles (nsec):\n\x20    | 50.00th=[27520], 99.99th=[  31500]\n\
    \x20   sync (usec): min=5, max=470, avg= 9.22, stdev=11.86\n\
    \x20   sync percentiles (usec):\n\x20    |  1.00th=[    8], 50.00th=[   11],\n\
    \x20    | 95.00th=[   17], 99.00th=[   75]\n\
    \x20    issued rwts: total=0,12034,0,12034 short=0,0,0,0 dropped=0,0,0,0\n\nRun status group 0 (all jobs):\n";

pub const INSERT: &str = "ips\tqps\trps\tmaxop\ttag\n100\t0\t0.0\t0.004\t20m.pg131.cx5\n";
pub const INSERT_OF_ALL: &str = "ips\tqps\trps\tcsps\tcpups\twps\ttag\n1000\t0\t0\t100\t25.5\t7\tpg12.cx5\n1100\t0\t0\t100\t25.5\t7\tpg13.cx5\n";

pub const PERF: &str = "# started on Tue Mar  4 22:42:48 2025\n\n Performance counter stats for process id '1':\n\n\
    \x20   14,284,550,053      cycles                    #    2.509 GHz\n   <not supported>      bus-cycles\n\
    \x20    9,321,310,685      instructions              #    0.65  insn per cycle\n\n      10.001289777 seconds time elapsed\n";

pub const FLAMEGRAPH: &str = r#"<?xml version="1.0"?>
<svg version="1.1" width="1200" xmlns="http://www.w3.org/2000/svg">
<!-- Flame graph stack visualization: flamegraph -->
<title>all (100 samples, 100%)</title><rect x="10.0" y="53" width="1000.0" height="15.0" />
<title>main (100 samples, 100%)</title><rect x="10.0" y="37" width="1000.0" height="15.0" />
<title>a&lt;T&gt; (60 samples, 60%)</title><rect x="10.0" y="21" width="600.0" height="15.0" />
<title>b (30 samples, 30%)</title><rect x="610.0" y="21" width="300.0" height="15.0" />
</svg>
"#;

pub const VMSTAT: &str = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
    r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n\
    44  0 104680 4028592 623968 122687096   10    9  3166  4073    0    0 16 10 72  2  0\n\
    41  0 104680 6147752 623968 122687328    0    0    12   224 13301 5486 51 45  4  0  0\n";

pub const IOSTAT: &str = "Linux 5.15.0 (host) \t03/04/2025 \t_x86_64_\t(96 CPU)\n\n\
    Device            r/s     rkB/s     w/s     wkB/s  %util\nmd2              1,00      8,00    2,00     32,00   1,20\n\n";

pub const RATES_TABLE: &str = "col-1 : x.pg1222_o2.x10.pk1\ncol-2 : x.pg181_o2.x10.pk1\n\ncol-1\tcol-2\n-> point queries\n\
    100\t110\thot-points_range=100\n200\t190\tscan.warm_range=100\n";

/// A file of each format that is imported.
pub const ALL: &[(Format, &str)] = &[
    (Format::Hammerdb, HAMMERDB),
    (Format::Hammerdb, HAMMERDB_OLD),
    (Format::HammerdbCsv, "pg1222,33781\npg181,33705\n"),
    (Format::Benchbase, BENCHBASE),
    (Format::Ycsb, YCSB),
    (Format::Ycsb, GO_YCSB),
    (Format::DbBench, DB_BENCH),
    (Format::DbBenchLog, DB_BENCH_LOG),
    (Format::Fio, FIO),
    (Format::InsertBenchmark, INSERT),
    (Format::InsertBenchmark, INSERT_OF_ALL),
    (Format::PerfStat, PERF),
    (Format::Flamegraph, FLAMEGRAPH),
    (Format::Vmstat, VMSTAT),
    (Format::Iostat, IOSTAT),
    (Format::RatesTable, RATES_TABLE),
    (Format::RatesCsv, "arm,test,repeat,rate,unit\nold,a,1,100,transactions\n"),
    (Format::VacuumLog, "vac_my starts at Mon Sep  1 02:15:17 AM UTC 2025 with sleep_secs = 110\n"),
];
