# `make` alone lists what there is.

.DEFAULT_GOAL := help
.PHONY: help test check demo packages dist

CHECK = cargo fmt --all --check && cargo clippy --workspace --all-targets -- -D warnings
# Lints and compiles at once, the way `cargo clippy` calls it: apart from compiling, it checks all dependencies once more.
LINTED = RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings

help:
	@echo 'make test      everything that has to hold: packages, format, lints, all tests, the Python wheel, fidelity to sysbench'
	@echo 'make check     format and lints only'
	@echo 'make demo      compare two Postgres releases, in about five minutes after the build on two quiet CPUs'
	@echo 'make dist      a release archive for x86-64 Linux from glibc 2.31 on, tried with that libc'
	@echo 'make packages  install the Debian packages that building and testing need, where they are missing'

# Packages come while it compiles; whatever else has to hold goes on beside the tests, which wait for servers.
test:
	tools/debian-packages --build
	tools/beside 'cargo fmt --all --check && $(LINTED) cargo test --workspace --no-run' tools/debian-packages
	tools/beside '$(LINTED) tools/run-tests' '$(MAKE) -C orasort test' \
		'RQPS=$${CARGO_TARGET_DIR:-target}/debug/rqps tools/fidelity --rounds 1 point-query read-only_range=100 read-write_range=10'

check:
	$(CHECK)
	$(MAKE) -C orasort check

demo:
	cargo run --release -- demo

packages:
	tools/debian-packages

dist:
	tools/dist
