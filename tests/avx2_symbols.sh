#!/bin/sh
# Objects compiled for AVX2 may define nothing outside chalkgrad::avx2: another definition (an inline function of a
# library, a static initialiser) could be the one the linker keeps, and would run on machines without AVX2.
# Usage: avx2_symbols.sh NM OBJECT...
set -eu
nm=$1
shift
[ $# -gt 0 ] || { echo "no object files given" >&2; exit 2; }
symbols=$("$nm" --defined-only "$@")
# Mangled, a name in the namespace begins with it, whatever it is (function, lambda in one, constant, guard). The
# address sanitizer adds two local functions and a marker for each constant.
foreign=$(printf '%s\n' "$symbols" | grep -E '^[0-9a-f]+ ' | grep -vE ' (_Z(GV|Z)*N?K?9chalkgrad4avx2|[rd] \.LC|B __odr_asan\.|t _sub_[DI]_)' |
    c++filt)
[ -z "$foreign" ] || { printf 'defined outside chalkgrad::avx2:\n%s\n' "$foreign" >&2; exit 1; }
