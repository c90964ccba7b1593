# usage: vector_instructions.sh OBJDUMP FOLDER: the kernels of docs/own_op, built in FOLDER, use vector registers, four doubles wide in
# the second compilation.
count() { "$1" -d --no-show-raw-insn "$2" | grep -cE "(mul|add|[0-9])p[sd] .*%$3mm"; }
plain=$(find "$2" -path '*own_op.dir*/energy_scale.cpp.o')
wide=$(find "$2" -path '*own_op-avx2.dir*/energy_scale.cpp.o')
echo "packed products and sums: $(count "$1" "$plain" x) in $plain, $(count "$1" "$wide" y) in $wide"
[ "$(count "$1" "$plain" x)" -ge 20 ] && [ "$(count "$1" "$wide" y)" -ge 20 ]
