#!/bin/bash
# run.sh: measures the built module on each Emacs of $EMACSES. A table each, then one line a figure:
# `bench NAME EMACS_VERSION ours_ms peer_ms ratio', ratio = peer / ours, `-' where there is no peer.
# $BENCH_DIVISOR divides the sizes: with 100 it only shows that the bench runs. $BENCH_ONLY is a regexp.
set -euo pipefail
shopt -s nullglob
cd "$(dirname "$0")/.."

emacses=(${EMACSES:-emacs emacs-30.1})
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
module=$(realpath "${ECA_CONTEXT_MODULE_FILE:-lisp/eca-context-module-$version.so}")
ECA_CONTEXT_PROGRAM=$(realpath "${ECA_CONTEXT_PROGRAM:-${CARGO_TARGET_DIR:-target}/release/eca-context}")
export ECA_CONTEXT_PROGRAM
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export BENCH_FIGURES=$work/figures
: >"$BENCH_FIGURES"

# What the real eca-emacs needs, where it is the peer.
packages=()
for dir in /usr/share/emacs/site-lisp/elpa-src/{dash,s,f,ht,markdown-mode}-[0-9]*/; do
    packages+=(-L "$dir")
done
# What newer Emacsen have of their own.
packages28=()
for dir in /usr/share/emacs/site-lisp/elpa-src/{compat,eglot}-[0-9]*/; do
    packages28+=(-L "$dir")
done
# The language servers that setup.sh put there. They run Python; what starts it by way of a shim would
# hand on another PATH to the server of bare.py.
python=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))')
export PATH=$PWD/.test/node/node_modules/.bin:$python:$PATH

# With it set, as developers have it, each error of a call of the module collects one.
unset RUST_BACKTRACE

for emacs in "${emacses[@]}"; do
    # Each Emacs compiles for itself what it runs, natively if it does so with a user's packages.
    dir=$work/$(basename "$emacs")
    mkdir -p "$dir/home" "$dir/eca"
    cp lisp/*.el benches/*.el benches/{server,bare,mcp}.py tests/{eca-stub,eglot-user,guest}.el "$dir"
    ln -s "$module" "$dir/eca-context-module-$version.so"
    run=(env HOME="$dir/home" "$emacs" -Q --batch
        --eval '(setq native-comp-jit-compilation nil native-comp-deferred-compilation nil)' -L "$dir")
    if [[ -n ${ECA_EMACS_DIR:-} ]]; then
        cp "$ECA_EMACS_DIR"/*.el "$dir/eca"
        run=(env ECA_EMACS_DIR="$dir/eca" "${run[@]}" "${packages[@]}" -L "$dir/eca")
    fi
    [[ $("$emacs" --version | head -n 1) != *" 28."* ]] || run+=("${packages28[@]}")
    "${run[@]}" --eval '(setq byte-compile-error-on-warn nil)' -f batch-byte-compile "$dir"/{,eca/}*.el \
        &>"$dir/log" || { cat "$dir/log" >&2; exit 1; }
    # To only show that the bench runs, that takes too long.
    [[ ${BENCH_DIVISOR:-1} != 1 ]] || "${run[@]}" --eval "(unless (and (fboundp 'native-comp-available-p)
        (native-comp-available-p)) (kill-emacs))" -f batch-native-compile "$dir"/{,eca/}*.el &>"$dir/log" ||
        { cat "$dir/log" >&2; exit 1; }
    "${run[@]}" -l doors -f bench
done
echo
cat "$BENCH_FIGURES"
