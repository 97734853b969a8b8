#!/bin/bash
# Installs what the tests, the demo and the lint need, and only what is missing. Needs no network once
# everything is there. Without apt, or without the rights to use it, it names the missing things.
set -euo pipefail
cd "$(dirname "$0")/.."

emacs30_dir=/opt/emacs-30.1
packages=(emacs-nox emacs-el elpa-flycheck elpa-package-lint elpa-dash elpa-s elpa-f elpa-ht
          elpa-compat elpa-markdown-mode elpa-eglot elpa-lsp-mode clangd nodejs npm python3 gcc git libc6-dev make)
# What the binaries of Emacs 30.1 link to beyond those of 28.2.
libraries=(libgccjit0 libtree-sitter0 liblcms2-2 libgpm2 libgmp10 libsqlite3-0 libxml2 libasound2)

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

is_installed() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }
is_debian() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }

# The answer is only as good as the last run: a half-finished unpacking does not count as there.
has_emacs30() { [[ $(emacs-30.1 --version 2>/dev/null | head -n 1) == "GNU Emacs 30.1" ]]; }
has_emacs28() { [[ $(emacs --version 2>/dev/null | head -n 1) == "GNU Emacs 28."* ]]; }

as_root=()
want_root() {
    [[ $(id -u) -eq 0 ]] && return
    command -v sudo >/dev/null && sudo -n true 2>/dev/null ||
        die "this needs root or sudo without a password, to install: $*"
    as_root=(sudo -n)
}
apt_install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@" >/dev/null </dev/null
}

install_packages() {
    local missing=() name
    for name in "${packages[@]}"; do
        case $name in
            # An own compiler, git, Node.js or Python serves as well as Debian's.
            gcc | git | make | npm | python3) command -v "$name" >/dev/null || missing+=("$name") ;;
            nodejs) command -v node >/dev/null || missing+=("$name") ;;
            libc6-dev) [[ -e /usr/include/stdio.h ]] || missing+=("$name") ;;
            *) is_installed "$name" || missing+=("$name") ;;
        esac
    done
    ((${#missing[@]})) || return 0
    want_root "${missing[*]}"
    say "installing ${missing[*]}"
    "${as_root[@]}" apt-get update -qq
    apt_install "${missing[@]}"
}

# Emacs 30.1 of Debian's backports, unpacked beside the system's Emacs. The lists of packages are
# read into a folder of our own, so the machine's sources and pins stay as they are.
install_emacs30() {
    has_emacs30 && return
    want_root "Emacs 30.1"
    say "unpacking Emacs 30.1 into $emacs30_dir"
    local work mirror name missing=()
    work=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/debs"
    "${as_root[@]}" apt-get update -qq
    mirror=$(apt-cache policy | sed -n 's/^ *[0-9]* \(https\{0,1\}:[^ ]*\) bookworm\/main .*/\1/p' | head -n 1)
    [[ -n $mirror ]] || die "no source of Debian 12 (bookworm) is set up in apt; Emacs 30.1 is in its backports"
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s bookworm-backports main\n' \
        "$mirror" >"$work/backports.list"
    local own=(-o "Dir::Etc::SourceList=$work/backports.list" -o Dir::Etc::SourceParts=/dev/null
               -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
    (cd "$work/debs" && apt-get "${own[@]}" update -qq &&
        apt-get "${own[@]}" download -qq emacs-nox emacs-bin-common emacs-common emacs-el)
    for name in "${libraries[@]}"; do is_installed "$name" || missing+=("$name"); done
    ((${#missing[@]} == 0)) || apt_install "${missing[@]}"
    "${as_root[@]}" mkdir -p "$emacs30_dir"
    for name in "$work"/debs/*.deb; do "${as_root[@]}" dpkg -x "$name" "$emacs30_dir"; done
    # The program looks for its files where Debian would have put them.
    for name in share libexec lib; do
        "${as_root[@]}" mkdir -p "/usr/$name/emacs"
        "${as_root[@]}" ln -sfn "$emacs30_dir/usr/$name/emacs/30.1" "/usr/$name/emacs/30.1"
    done
    "${as_root[@]}" ln -sfn "$emacs30_dir/usr/bin/emacs-nox" /usr/local/bin/emacs-30.1
    "${as_root[@]}" ln -sfn "$emacs30_dir/usr/bin/emacsclient.emacs" /usr/local/bin/emacsclient-30.1
    rm -rf "$work"
    trap - EXIT
    has_emacs30 || die "the backports gave $(emacs-30.1 --version 2>&1 | head -n 1), not Emacs 30.1"
}

# Language servers and a client of MCP, into a folder of our own; tests/package-lock.json says which.
install_servers() {
    cmp -s tests/package-lock.json .test/node/installed && [[ -x .test/node/node_modules/.bin/mcp-inspector ]] && return
    say "installing language servers and a client of MCP into .test/node"
    rm -rf .test/node
    mkdir -p .test/node
    cp tests/package.json tests/package-lock.json .test/node
    (cd .test/node && npm ci --no-audit --no-fund --loglevel=error >/dev/null) ||
        die "npm could not install the language servers"
    cp tests/package-lock.json .test/node/installed
}

# A grammar for tree-sitter in Emacs 30.1, compiled from its sources in npm.
install_grammar() {
    local version=0.20.4 dir=.test/tree-sitter
    [[ -e $dir/libtree-sitter-python.so && $(cat "$dir/version" 2>/dev/null) == "$version" ]] && return
    say "compiling a grammar for tree-sitter into $dir"
    rm -rf "$dir"
    mkdir -p "$dir"
    (cd "$dir" && npm pack --silent "tree-sitter-python@$version" >/dev/null &&
        tar -xzf "tree-sitter-python-$version.tgz" &&
        cc -shared -fPIC -O1 -I package/src package/src/parser.c package/src/scanner.c \
            -o libtree-sitter-python.so) || die "the grammar of Python could not be built"
    rm -rf "$dir"/package "$dir"/*.tgz
    echo "$version" >"$dir/version"
}

name_what_is_missing() {
    local missing=()
    has_emacs28 || missing+=("Emacs 28.2 as \`emacs' with its Lisp sources")
    has_emacs30 || missing+=("Emacs 30.1 as \`emacs-30.1'")
    command -v cc >/dev/null || missing+=("a C compiler to link with")
    command -v python3 >/dev/null || missing+=("Python 3")
    command -v git >/dev/null || missing+=("git")
    command -v npm >/dev/null || missing+=("Node.js with npm")
    command -v clangd >/dev/null || missing+=("clangd")
    ((${#missing[@]})) || return 0
    local list
    list=$(printf '%s, ' "${missing[@]}")
    die "there is no apt here; please install ${list%, }, and the Emacs packages compat, eglot, flycheck, lsp-mode and package-lint"
}

# A Python of our own with the validator of JSON Schema, language servers and a client of MCP; made anew
# when the list of its packages changes.
make_venv() {
    local venv=.test/venv
    cmp -s tests/requirements.txt "$venv/requirements.txt" && "$venv/bin/python" -c 'import jsonschema, mcp' && return
    python3 -c 'import ensurepip, venv' 2>/dev/null ||
        if is_debian; then
            want_root python3-venv
            "${as_root[@]}" apt-get update -qq
            apt_install python3-venv
        else
            die "please install Python 3 with its module venv"
        fi
    say "installing the validator, language servers and a client of MCP into $venv"
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check -r tests/requirements.txt
    cp tests/requirements.txt "$venv/requirements.txt"
}

command -v cargo >/dev/null || die "cargo is missing; please install a Rust toolchain, 1.88 or newer"
mkdir -p .test
if is_debian; then
    install_packages
    install_emacs30
else
    name_what_is_missing
fi
make_venv
install_servers
install_grammar
