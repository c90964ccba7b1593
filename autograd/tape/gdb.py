"""How gdb prints chalkgrad's Var, Tape, Shape and arrays. In gdb, or in ~/.gdbinit: source PREFIX/share/chalkgrad/gdb.py"""
import re

import gdb

# By Dtype: its name, the C type of an element, and the member to show.
SCALARS = [("double", "double", None), ("float", "float", None), ("long double", "long double", None),
           ("dual", "chalkgrad::Dual<double>", "v"), ("half", None, None), ("bfloat16", None, None)]
LONGEST = 20


def listed(first, count, member=None):
    shown = [first[i][member] if member else first[i] for i in range(min(count, LONGEST))]
    more = [] if count <= LONGEST else ["… %d in all" % count]
    return "{" + ", ".join([str(n) for n in shown] + more) + "}"


def extents(shape):
    return [int(shape["extents_"]["_M_elems"][i]) for i in range(int(shape["rank_"]))]


def in_parentheses(numbers):
    return "(" + ", ".join(str(n) for n in numbers) + ")"


def record_of(state, i):
    # Blocks of 1024 records; a unique_ptr is one pointer.
    block = state["blocks_"]["_M_impl"]["_M_start"] + i // 1024
    return block.cast(gdb.lookup_type("chalkgrad::detail::Record").pointer().pointer()).dereference()[i % 1024]


def numbers_of(record, pointer, working=False):
    name, element, member = SCALARS[int(record["dtype"])]
    if int(pointer) == 0:
        return "no numbers"
    if element is None:
        if not working:
            return "numbers of type " + name
        element = "float"
    size = int(record["shape"].dereference()["size_"])
    return listed(pointer.cast(gdb.lookup_type(element).pointer()), size, member)


def line_of(record):
    kind = "op" if int(record["op"]) else "variable" if int(record["flags"]) & 2 else "constant"
    shape = in_parentheses(extents(record["shape"].dereference()))
    return "%s %s %s %s" % (kind, shape, SCALARS[int(record["dtype"])][0], numbers_of(record, record["value"]))


class Shape:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return in_parentheses(extents(self.value))


class Array:
    """xt::xarray and xt::xtensor, whose numbers lie in a uvector."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        store = self.value["m_storage"]
        shape = self.value["m_shape"]
        if "m_begin" in [field.name for field in shape.type.fields()]:
            count = int(shape["m_end"] - shape["m_begin"])
            shape = [int(shape["m_begin"][i]) for i in range(count)]
        else:
            shape = [int(shape["_M_elems"][i]) for i in range(shape["_M_elems"].type.range()[1] + 1)]
        return in_parentheses(shape) + " " + listed(store["p_begin"], int(store["p_end"] - store["p_begin"]))


class Var:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        state = self.value["state_"]["state_"]
        if int(state) == 0:
            return "Var (not set)"
        i = int(self.value["index_"])
        state = state.dereference()
        if i >= int(state["size_"]) or int(record_of(state, i)["epoch"]) != int(self.value["epoch_"]):
            return "Var of line %d, which the tape has dropped in a rewind" % i
        record = record_of(state, i)
        text = "line %d: %s" % (i, line_of(record))
        return text + ("" if int(record["grad"]) == 0 else ", gradient " + numbers_of(record, record["grad"], True))


class Tape:
    def __init__(self, value):
        self.state = value["state_"]["state_"].dereference()

    def to_string(self):
        return "tape of %d lines" % int(self.state["size_"])

    def children(self):
        for i in range(min(int(self.state["size_"]), LONGEST)):
            yield str(i), line_of(record_of(self.state, i))


PRINTERS = [(re.compile(pattern), printer) for pattern, printer in [
    (r"^chalkgrad::Shape$", Shape), (r"^chalkgrad::Var<.*>$", Var), (r"^chalkgrad::Tape$", Tape),
    (r"^xt::(xarray|xtensor)_container<xt::uvector<.*>$", Array)]]


def printer_of(value):
    name = value.type.strip_typedefs().unqualified().name
    for pattern, printer in PRINTERS:
        if name and pattern.match(name):
            return printer(value)
    return None


gdb.pretty_printers.append(printer_of)
