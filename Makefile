# eca-context: what one can do here. `make help' lists it.

SHELL := /bin/bash
.DEFAULT_GOAL := help
CARGO ?= cargo
EMACS ?= emacs

version := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
target_dir := $(or $(CARGO_TARGET_DIR),target)
soext := $(if $(filter Darwin,$(shell uname -s)),dylib,so)
module := lisp/eca-context-module-$(version).$(soext)
python := .test/venv/bin/python
# Every answer that a test produces is added to this file, one JSON value a line, and then validated.
export ECA_CONTEXT_ANSWERS_FILE := $(CURDIR)/.test/answers.jsonl

.PHONY: help build demo test test-rust test-lisp test-schema lint bench setup schema clean

help: ## List what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup: ## Install what tests, demo and lint need, only what is missing (Debian)
	@tests/setup.sh

build: ## Build the module and put it where the Lisp files find it
	$(CARGO) build --release --locked
	@mkdir -p lisp
	@cp "$(target_dir)/release/libeca_context.$(soext)" "$(module).new"
	@# A loaded module is never written over: the new file takes its name.
	@mv -f "$(module).new" "$(module)"
	@echo "built $(module)"

demo: setup build ## Ask a small project, print question and answer
	@$(EMACS) -Q --batch -L lisp -l tests/demo.el -f demo

test: setup build test-rust test-lisp test-schema ## Run all tests

test-rust: setup
	@mkdir -p .test && rm -f "$$ECA_CONTEXT_ANSWERS_FILE"
	$(CARGO) test --locked
	$(CARGO) test --locked --no-default-features

test-lisp: setup build test-rust
	tests/run-ert.sh

test-schema: setup test-rust test-lisp
	$(python) tests/schema.py docs/schema.json "$$ECA_CONTEXT_ANSWERS_FILE"

lint: setup ## Format, clippy, rustdoc, byte-compile, checkdoc, package-lint, check-declare
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) clippy --locked --all-targets --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --document-private-items
	emacs -Q --batch -l tests/lint.el -f lint
	emacs-30.1 -Q --batch -l tests/lint.el -f lint

bench: setup build ## Measure against well-written Lisp, on both versions of Emacs
	@for emacs in emacs emacs-30.1; do \
	  $$emacs -Q --batch -L lisp -l benches/bench.el -f bench || exit 1; done

schema: ## Write docs/schema.json anew from the Rust types
	ECA_CONTEXT_UPDATE=1 $(CARGO) test --locked --features schema schema

clean: ## Remove what was built, installed packages stay
	$(CARGO) clean
	rm -rf .test/ert .test/answers.jsonl lisp/*.elc lisp/eca-context-module-*.so lisp/eca-context-module-*.dylib
