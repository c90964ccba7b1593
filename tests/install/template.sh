# The programs of docs/template, run where they were built: sh template.sh
set -e
refused() { # STATUS WORDS...: it ends with that status, and standard error is one line
    wanted=$1
    shift
    status=0
    "$@" 2>errors >/dev/null || status=$?
    test "$status" = "$wanted"
    test "$(wc -l <errors)" = 1
}
./forward_scale | grep -q '1 of 1 experiments hold (3 numbers checked)'
./placement --help | grep -q -e '--seeds'
./placement >shown
sed 's/, [0-9.e-]* s)/)/' shown | diff - "$(dirname "$0")/../../docs/template/placement.txt"
./placement --seed 7 --out report >/dev/null
for ending in csv json svg pdf png; do test -s report/placement-growth.$ending; done
grep -q 'residual step,RMS(h),low,high' report/placement-growth.csv
grep -q '<code>placement placement --seed 7</code>' report/index.html
./forward_scale --seeds 0..3 --json | grep -q '"command": "forward_scale forward_scale --seeds 0..3"'
refused 2 ./placement --seed -1
refused 2 ./placement --seed 1 --seeds 1..2
refused 2 ./placement --seeds 5..2
refused 2 ./placement --out ''
refused 2 ./placement placment
refused 2 ./placement --frobnicate
refused 2 sh -c './placement >/dev/full'
