# eca-context: what one can do here. `make help' lists it.

SHELL := /bin/bash
.DEFAULT_GOAL := help
CARGO ?= cargo
EMACS ?= emacs

version := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
target_dir := $(or $(CARGO_TARGET_DIR),target)
soext := $(if $(filter Darwin,$(shell uname -s)),dylib,so)
module := lisp/eca-context-module-$(version).$(soext)

.PHONY: help build build-cli bench soak demo test test-rust test-lisp test-schema test-mcp schema lint setup clean

help: ## List what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup: ## Install what tests, demo and lint need, only what is missing (Debian)
	@tests/setup.sh

build: ## Build the module and put it where the Lisp files find it
	$(CARGO) build --release --locked
	@mkdir -p lisp
	@# A loaded module is never written over: the new file takes its name.
	@new=$$(mktemp "$(module).XXXXXX") && \
	  { cp "$(target_dir)/release/libeca_context.$(soext)" "$$new" && chmod 755 "$$new" && \
	    mv -f "$$new" "$(module)" || { rm -f "$$new"; false; }; }
	@echo "built $(module)"

build-cli: ## Build the program eca-context: an MCP server, and questions from a shell
	$(CARGO) build --release --locked --no-default-features --features mcp --bin eca-context
	@echo "built $(target_dir)/release/eca-context"

demo: setup build ## Ask a small project, print question and answer
	@$(EMACS) -Q --batch -L lisp -l tests/demo.el -f demo

test: setup build test-rust test-lisp test-schema test-mcp ## Run all tests

test-rust: setup
	$(CARGO) test --locked --features mcp,schema

test-lisp: setup build test-rust
	tests/run-ert.sh

bench: setup build build-cli ## Measure against Lisp on each of EMACSES, a table and one line a figure
	@benches/run.sh

soak: setup build ## Ask thousands of times with edits between: nothing may grow
	SOAK_REQUESTS=5000 STORM_REQUESTS=1000 ERT_MAX_SECONDS=1200 ERT_OUT=.test/soak \
	  tests/run-ert.sh tests/flow-test.el tests/storm-test.el
	@grep -h "^soak:" .test/soak/*.log

test-schema: setup test-rust test-lisp ## Validate every answer of the tests by docs/schema.json
	.test/venv/bin/python tests/schema.py docs/schema.json docs/protocol.md docs/upstream.md \
	  "$(target_dir)/tmp/answers.jsonl" "$(target_dir)/tmp/answers-random.jsonl" .test/answers.jsonl

# The program is the one that test-rust built, with the feature mcp.
test-mcp: setup build test-rust
	.test/venv/bin/python tests/mcp-test.py "$(target_dir)/debug/eca-context"

schema: ## Rewrite docs/schema.json from the types
	ECA_CONTEXT_WRITE_SCHEMA=1 $(CARGO) test --locked --features schema --test schema

lint: setup ## Format, clippy, rustdoc, byte-compile, checkdoc, package-lint, check-declare
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) clippy --locked --all-targets --features schema -- -D warnings
	$(CARGO) clippy --locked --all-targets --no-default-features -- -D warnings
	$(CARGO) clippy --locked --all-targets --no-default-features --features mcp -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --features mcp --document-private-items
	emacs -Q --batch -l tests/lint.el -f lint
	emacs-30.1 -Q --batch -l tests/lint.el -f lint

clean: ## Remove what was built, installed packages stay
	$(CARGO) clean
	rm -rf .test/ert lisp/*.elc lisp/eca-context-module-*.so lisp/eca-context-module-*.dylib
