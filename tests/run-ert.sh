#!/bin/bash
# run-ert.sh [FILE…]: runs every tests/*-test.el, or FILEs, with the real module; each file in an Emacs of
# its own, on each Emacs of $EMACSES, plain and with --module-assertions; a file that says "Run-ert: slow"
# meets the assertions on the last Emacs alone. The last line that is printed sums up:
# `ert total: N passed, N failed, N skipped'. A file that is missing, has no test, crashes or hangs fails.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

emacses=(${EMACSES:-emacs emacs-30.1})
max_seconds=${ERT_MAX_SECONDS:-300}
n_jobs=${ERT_JOBS:-$(nproc 2>/dev/null || echo 2)}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
export ECA_CONTEXT_MODULE_FILE=${ECA_CONTEXT_MODULE_FILE:-$PWD/lisp/eca-context-module-$version.so}
export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}

shopt -s nullglob
files=("$@")
((${#files[@]})) || files=(tests/*-test.el)
((${#files[@]})) || { echo "run-ert: there is no tests/*-test.el" >&2; exit 1; }
[[ -f $ECA_CONTEXT_MODULE_FILE ]] || { echo "run-ert: no module at $ECA_CONTEXT_MODULE_FILE; make build" >&2; exit 1; }

# Foreign packages from Debian's sources: their compiled files belong to the system's Emacs alone.
load_path=(-L lisp -L tests)
for dir in /usr/share/emacs/site-lisp/elpa-src/{dash,s,f,ht,epl,pkg-info,flycheck,markdown-mode,lsp-mode,lv,spinner}-[0-9]*/; do
    load_path+=(-L "$dir")
done
# What newer Emacsen have of their own.
load_path28=()
for dir in /usr/share/emacs/site-lisp/elpa-src/{compat,eglot}-[0-9]*/; do
    load_path28+=(-L "$dir")
done
# The language servers that setup.sh put there.
export PATH=$PWD/.test/node/node_modules/.bin:$PATH

out=${ERT_OUT:-.test/ert}
rm -rf "$out"
mkdir -p "$out"
out=$(realpath "$out")

# What the module answered, for tests/schema.py: a file for each run, then all in one.
answers=.test/answers.jsonl

# One Emacs, one mode, one file: its log, and beside it `PASSED FAILED SKIPPED' if the run came to its end.
run_one() {
    local emacs=$1 mode=$2 file=$3 log=$4 home flags=()
    [[ $mode == assertions ]] && flags=(--module-assertions)
    [[ $("$emacs" --version | head -n 1) == *" 28."* ]] && flags+=("${load_path28[@]}")
    home=$(mktemp -d)
    HOME=$home XDG_CONFIG_HOME=$home XDG_CACHE_HOME=$home ERT_COUNTS_FILE=$log.counts \
        ECA_CONTEXT_ANSWERS_FILE=$log.jsonl \
        timeout --kill-after=5 "$max_seconds" "$emacs" "${flags[@]}" -Q --batch \
        --eval '(setq native-comp-jit-compilation nil native-comp-deferred-compilation nil)' \
        "${load_path[@]}" -l tests/run-ert.el -f run-ert-file "$file" >"$log" 2>&1 </dev/null
    echo $? >"$log.exit"
    rm -rf "$home"
}

runs=()
for emacs in "${emacses[@]}"; do
    for mode in plain assertions; do
        for file in "${files[@]}"; do
            [[ $mode == assertions && $emacs != "${emacses[-1]}" ]] && grep -q '^;; Run-ert: slow' "$file" && continue
            log=$out/$(basename "$emacs")-$mode-$(basename "$file" .el).log
            runs+=("$log")
            while (($(jobs -rp | wc -l) >= n_jobs)); do wait -n; done
            run_one "$emacs" "$mode" "$file" "$log" &
        done
    done
done
wait
cat "$out"/*.jsonl >"$answers"

n_passed=0 n_failed=0 n_skipped=0
for log in "${runs[@]}"; do
    name=$(basename "$log" .log)
    status=$(cat "$log.exit" 2>/dev/null || echo "no exit status")
    if [[ -s $log.counts ]] && read -r passed failed skipped <"$log.counts" && ((passed + failed + skipped > 0)); then
        # A run that counted nothing wrong and still ended badly went wrong after the tests.
        [[ $status == 0 || $failed -gt 0 ]] || failed=1
    else
        passed=0 failed=1 skipped=0
        echo "run-ert: $name did not come to its end (status $status)"
    fi
    n_passed=$((n_passed + passed)) n_failed=$((n_failed + failed)) n_skipped=$((n_skipped + skipped))
    printf '%-60s %4d passed %3d failed %3d skipped\n' "$name" "$passed" "$failed" "$skipped"
    ((failed == 0 && skipped == 0)) || sed 's/^/    /' "$log"
done
printf 'ert total: %d passed, %d failed, %d skipped\n' "$n_passed" "$n_failed" "$n_skipped"
((n_failed == 0 && n_passed > 0))
