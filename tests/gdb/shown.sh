#!/bin/sh
# gdb prints chalkgrad's types in plain words: sh shown.sh PRINTERS PROGRAM. Without a gdb that may run programs: 77, skipped.
set -eu
gdb -nx -batch -ex run -ex 'print 1' /bin/true 2>/dev/null | grep -q 'exited normally' || { echo "no gdb here"; exit 77; }

said=$(gdb -nx -batch -ex "source $1" -ex 'break stop_here' -ex run -ex up \
    -ex 'print numbers' -ex 'print x' -ex 'print w' -ex 'print none' -ex 'print shape' -ex 'print tape' "$2" 2>&1)
expected='$1 = (2, 3) {1, 2, 3, 4, 5, 6}
$2 = line 0: variable (2, 3) double {1, 2, 3, 4, 5, 6}, gradient {1, 2, 3, 4, 5, 6}
$3 = Var of line 1, which the tape has dropped in a rewind
$4 = Var (not set)
$5 = (2, 3)
$6 = tape of 2 lines = {0 = variable (2, 3) double {1, 2, 3, 4, 5, 6}, 1 = variable () double {3}}'
[ "$(printf '%s\n' "$said" | grep '^\$')" = "$expected" ] || { printf '%s\n\nexpected\n%s\n' "$said" "$expected"; exit 1; }
