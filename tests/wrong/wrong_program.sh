#!/bin/sh
# A program that must not compile: within 25 lines the compiler says the sentence of its first line, clang that of a second line
# `// clang says: …` where its own words differ (`nothing`: it compiles the program).
# sh wrong_program.sh FILE COMPILER OPTION...
set -eu
file=$1
shift

sentence=$(sed -n '1s|^// says: ||p' "$file")
[ -n "$sentence" ] || { echo "$file: its first line must be: // says: SENTENCE"; exit 1; }
case $1 in *clang*)
    own=$(sed -n '2s|^// clang says: ||p' "$file")
    sentence=${own:-$sentence}
    [ "$sentence" != nothing ] || exit 0 ;;
esac
if said=$(LC_ALL=C "$@" -fsyntax-only "$file" 2>&1); then
    echo "$file compiles; it should be refused"
    exit 1
fi
line=$(printf '%s\n' "$said" | grep -nF -m 1 -e "$sentence" | cut -d : -f 1)
if [ "${line:-26}" -gt 25 ]; then
    printf '%s\nNot within 25 lines: %s\n' "$said" "$sentence"
    exit 1
fi
