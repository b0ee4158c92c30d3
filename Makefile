# `make` alone lists what there is.

.DEFAULT_GOAL := help
.PHONY: help test check demo packages

CHECK = cargo fmt --all --check && cargo clippy --workspace --all-targets -- -D warnings

help:
	@echo 'make test      everything that has to hold: packages, format, lints, all tests, the Python wheel, fidelity to sysbench'
	@echo 'make check     format and lints only'
	@echo 'make demo      compare two Postgres releases, in under five minutes after the build'
	@echo 'make packages  install the Debian packages that building and testing need, where they are missing'

# Packages come while it compiles. Tests wait for servers and windows more than they compute: two more at a time than there
# are CPUs, and whatever else has to hold beside them.
test:
	tools/debian-packages --build
	tools/beside '$(CHECK) && cargo test --workspace --no-run' tools/debian-packages
	RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$(($$(nproc) + 2))} tools/beside \
		'cargo test --workspace --no-fail-fast' \
		'$(MAKE) -C orasort test' \
		'RQPS=$${CARGO_TARGET_DIR:-target}/debug/rqps tools/fidelity point-query read-only_range=100 read-write_range=10'

check:
	$(CHECK)
	$(MAKE) -C orasort check

demo:
	cargo run --release -- demo

packages:
	tools/debian-packages
