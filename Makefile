# Everything a developer does, by name. `make` alone lists it.

CARGO ?= cargo
# What is costly to make is kept here between checkouts.
BLUE_TEST_CACHE ?= $(HOME)/.cache/blue-test
export BLUE_TEST_CACHE
DENY = e2e/install/cargo-tool.sh cargo-deny 0.20.2

.DEFAULT_GOAL := help
.PHONY: help build dist test lint fmt doc deny audit e2e fuzz coverage bench up ci

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the program (target/release/blue)
	$(CARGO) build --locked --release -p blue

dist: ## Build it as it is shipped: small, and laid out for a quick start (target/dist/blue)
	dist/build

# Variables of the real-server part are taken away, so that this is hermetic wherever it runs.
test: ## Run the hermetic tests: needs cargo, git and make
	env -u BLUE_TEST_REQUIRE -u BLUE_TEST_GITEA -u BLUE_TEST_FORGEJO_BIN \
		$(CARGO) test --locked --workspace --no-fail-fast

lint: ## Check the format and what clippy says
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

fmt: ## Format the code
	$(CARGO) fmt --all

doc: ## Build the API documentation; a broken link is an error
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

deny: ## Check licences, sources and bans of the dependencies
	deny=$$($(DENY)) && "$$deny" --locked check bans licenses sources

audit: ## Check the dependencies for known defects; asks a database in the network
	deny=$$($(DENY)) && "$$deny" --locked check advisories

e2e: ## Run the tests with real servers and clients; installs what it needs by itself
	e2e/contract
	e2e/run
	e2e/store
	e2e/mcp/run
	e2e/broker/run

fuzz: ## Give each fuzz target its 20,000 inputs; needs a C++ compiler
	fuzz/run

# Not by llvm-tools, which not every toolchain can have: the reader of profiles is in the tool.
coverage: ## Measure which lines of the broker's handlers its tests reach; under 80 % fails
	tarpaulin=$$(e2e/install/cargo-tool.sh cargo-tarpaulin 0.37.5) && "$$tarpaulin" tarpaulin --locked --engine llvm \
		--packages blue-broker --skip-clean --target-dir target/coverage --timeout 600 --fail-under 80 \
		--include-files 'crates/blue-broker/src/oauth/*' 'crates/blue-broker/src/http/*' \
		--exclude-files '*/tests.rs' --out stdout

bench: ## Measure, against peers where there are any
	bench/run
	bench/tools/run
	bench/broker/run

up: ## Build and run `blue up`: a forge to play with, on this machine
	$(CARGO) run --locked -p blue -- up

ci: lint test doc deny e2e fuzz ## All that must hold before a merge
