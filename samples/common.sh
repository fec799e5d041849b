# Sourced by each lesson's run.sh: finds lathe, the models, and a place to write to.
set -euo pipefail
samples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lathe=${LATHE:-$samples/../build/release/bin/lathe}
models=$samples/models
lathe=$(type -P "$lathe") || { echo "${LATHE:-lathe} is not there; run ./scripts/build, or set LATHE" >&2; exit 1; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
say() { printf '\n$ %s\n' "$*"; }
show() { say "$@"; "$@"; }
