#!/bin/sh
# All C++ of the tree is as .clang-format says: sh format.sh ROOT. Other versions of clang-format break lines elsewhere,
# so without version 14 nothing can be said: status 77, skipped.
set -eu
cd "$1"

for formatter in clang-format-14 clang-format; do
    case $("$formatter" --version 2>/dev/null) in *" version 14."*) break ;; esac
    formatter=
done
[ -n "$formatter" ] || { echo "no clang-format 14 here (Debian's clang-format-14)"; exit 77; }

find autograd ops nn experiments tests docs \( -name '*.cpp' -o -name '*.hpp' \) -print0 |
    xargs -0 "$formatter" --dry-run -Werror --ferror-limit=1 || {
    echo "not as .clang-format says; put right by: $formatter -i FILE..."
    exit 1
}
