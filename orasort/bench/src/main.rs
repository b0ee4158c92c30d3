//! `orasort-bench`: measures the library beside its peers.

fn main() -> anyhow::Result<()> {
    rqps_orasort_bench::programs::bench::main()
}
