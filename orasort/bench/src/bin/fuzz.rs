//! `orasort-fuzz`: holds every public function of `orasort` against the sort of std.

fn main() -> anyhow::Result<std::process::ExitCode> {
    rqps_orasort_bench::programs::fuzz::main()
}
