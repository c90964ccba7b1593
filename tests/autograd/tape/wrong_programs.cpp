// Wrong programs that people write, and the sentence that each is told: the op, the shapes, what to do. Those that do not even
// compile are in tests/wrong.
#include <boost/test/unit_test.hpp>

#include <functional>

#include <chalkgrad/autograd/check/jacobian.hpp>
#include <chalkgrad/autograd/tape/cast.hpp>
#include <chalkgrad/autograd/tape/custom.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/elementwise.hpp>
#include <chalkgrad/ops/linear/embedding.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/norm/rms_norm.hpp>
#include <chalkgrad/ops/reduce/cross_entropy.hpp>
#include <chalkgrad/ops/reduce/reduce.hpp>
#include <chalkgrad/ops/reduce/softmax.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>
#include <chalkgrad/ops/shape/slice.hpp>

namespace test_wrong_programs {
BOOST_AUTO_TEST_SUITE(wrong_programs)

using namespace chalkgrad;
using Doubles = Array<double>;
using Vars = std::vector<Var<double>>;

namespace {

/// What a program has at hand: x (2, 3), row (3), s a number.
struct Desk {
    Tape tape, other;
    Var<double> x = tape.variable(Doubles{{1, 2, 3}, {4, 5, 6}}, "x"), row = tape.variable(Doubles{1, 2, 3}, "row"),
                s = tape.variable(2., "s"), foreign = other.variable(Doubles{1, 2, 3}, "z");
};

struct Wrong {
    const char* name;
    std::function<void(Desk&)> program;
    const char* sentence;
};

/// Rows of x times 2, with any backward.
template <class Vjp> Var<double> twice(const Var<double>& x, Vjp vjp) {
    return custom(
        "twice", [](const auto& a) { return xt::eval(2. * a); }, vjp, x);
}

const Wrong programs[] = {
    {"a Var that was never set", [](Desk& d) { Var<double>() + d.row; },
        "add: input 'a' was never set; make it with tape.variable() or an op"},
    {"all Vars never set", [](Desk&) { exp(Var<double>()); },
        "exp: no input was given; make one with tape.variable() or tape.constant()"},
    {"a Var from before a rewind",
        [](Desk& d) {
            const auto mark = d.tape.mark();
            const auto y = exp(d.row);
            d.tape.rewind(mark);
            y.value();
        },
        "value: this Var stands for line 3, which the tape has dropped in a rewind; keep its value() as an array "
        "instead"},
    {"an op on a Var from before clear()",
        [](Desk& d) {
            d.tape.clear();
            d.row + d.row;
        },
        "add: this Var stands for line 1, which the tape has dropped in a rewind; keep its value() as an array "
        "instead"},
    {"a mark from beyond the end",
        [](Desk& d) {
            const auto mark = d.tape.mark();
            d.tape.clear();
            d.tape.rewind(mark);
        },
        "rewind: the mark lies beyond the end of the tape; it was taken before an earlier rewind"},
    {"two tapes", [](Desk& d) { d.row + d.foreign; },
        "add: inputs 'a', line 1 (leaf 'row') of shape (3), and 'b', line 0 (leaf 'z') of shape (3), are on two tapes; "
        "record both on one, or take value() of one as a constant of the other"},
    {"a gradient across tapes", [](Desk& d) { grad(sum(d.row), Vars{d.foreign}); },
        "grad: line 0 (leaf 'z') is on another tape than line 3 (sum); record both on one"},
    {"extents that do not broadcast", [](Desk& d) { d.x + slice(d.row, "0:2"); },
        "add: shapes (2, 3) and (2) do not broadcast: counted from the last axis, extents must be equal or 1; reshape "
        "or transpose one of them"},
    {"a product of the wrong ranks", [](Desk& d) { matmul(d.x, d.x); },
        "matmul: shapes (2, 3) and (2, 3) do not fit: the last axis of a has 3, the last but one axis of b 2; "
        "transpose one of them"},
    {"a gain of another length", [](Desk& d) { rms_norm(d.x, slice(d.row, "0:2")); },
        "rms_norm: gamma has shape (2) beside x of shape (2, 3); it must be (3) or a single number"},
    {"a negative axis out of range", [](Desk& d) { sum(d.x, {-3}); },
        "sum: axis -3 of an array of shape (2, 3): give one from -2 to 1"},
    {"an axis of a number", [](Desk& d) { softmax(d.s, -1); },
        "softmax: axis -1 of a single number, shape (), which has no axes; reshape it to (1) first"},
    {"too many elements for a shape",
        [](Desk& d) {
            reshape(d.x, {4, 2});
        },
        "reshape: x of shape (2, 3) to (4, 2): the numbers of elements differ"},
    {"a slice past the end", [](Desk& d) { slice(d.row, "7"); },
        "slice: [7] of an array of shape (3): 7 is out of range for axis 0, which has 3"},
    {"arrays that do not stack up",
        [](Desk& d) {
            concat(Vars{d.x, d.row}, 0);
        },
        "concat: array 1 has shape (3), the first one (2, 3); they must be equal but for axis 0"},
    {"a token beyond the table",
        [](Desk& d) {
            embedding(d.x, Array<std::int64_t>{0, 2});
        },
        "embedding: id 2 is no row of the table of shape (2, 3); give 0 to 1"},
    {"a class that is not there",
        [](Desk& d) {
            cross_entropy(d.x, Array<std::int64_t>{0, 3});
        },
        "cross_entropy: target 3 is no class: give 0 to 2, or -100 for a token that does not count"},
    {"nine axes",
        [](Desk&) {
            Shape{1, 1, 1, 1, 1, 1, 1, 1, 1};
        },
        "shape: more than 8 axes; reshape the array to fewer"},
    {"a negative extent",
        [](Desk&) {
            Shape(std::vector<int>{2, -1});
        },
        "shape: the extent -1 is negative"},
    {"a number of several", [](Desk& d) { d.row.item(); },
        "item: line 1 (leaf 'row') has shape (3), not one element; use value()"},
    {"backward of an array", [](Desk& d) { exp(d.x).backward(); },
        "backward: line 3 (exp) has shape (2, 3), not one element; reduce it with sum() or mean(), or give a cotangent "
        "of that shape"},
    {"a cotangent of another shape",
        [](Desk& d) {
            exp(d.x).backward(Doubles{1, 2, 3});
        },
        "backward: the cotangent has shape (3), line 3 (exp) has (2, 3); they must be equal"},
    {"backward of constants",
        [](Desk& d) {
            sum(d.tape.constant(Doubles{1, 2}, "c")).backward();
        },
        "backward: line 4 (sum) depends on no variable; make the leaf with tape.variable()"},
    {"backward of what is stopped", [](Desk& d) { sum(stop_gradient(d.row)).backward(); },
        "backward: line 4 (sum) depends on variables through stop_gradient() only, which lets no gradient through"},
    {"a gradient through stop_gradient", [](Desk& d) { grad(sum(stop_gradient(d.row)) + d.s, Vars{d.row}); },
        "grad: line 5 (add) depends on line 1 (leaf 'row') through stop_gradient() only, which lets no gradient "
        "through"},
    {"a gradient of what was not used", [](Desk& d) { grad(sum(d.row), Vars{d.s}); },
        "grad: line 3 (sum) does not depend on line 2 (leaf 's'); there is no gradient"},
    {"grad() before backward()", [](Desk& d) { d.row.grad(); },
        "grad: not computed for line 1 (leaf 'row'): call backward() on something that depends on it"},
    {"grad() of an intermediate",
        [](Desk& d) {
            const auto y = exp(d.row);
            sum(y).backward();
            y.grad();
        },
        "grad: not computed for line 3 (exp): intermediates do not keep theirs; call keep_grad() before backward()"},
    {"grad() of a constant", [](Desk& d) { d.tape.constant(1., "c").grad(); },
        "grad: not computed for line 3 (leaf 'c'): it depends on no variable; make the leaf with tape.variable()"},
    {"keep_grad() of a constant", [](Desk& d) { d.tape.constant(1., "c").keep_grad(); },
        "keep_grad: line 3 (leaf 'c') depends on no variable, so it has no gradient"},
    {"numbers of a tape of shapes",
        [](Desk&) {
            Tape(Tape::Mode::shapes_only).leaf<double>({2, 3}, nullptr, true, "w").value();
        },
        "value: line 0 (leaf 'w') has a shape (2, 3) but no numbers: its tape is shape-only; record on Tape() instead"},
    {"no numbers for a leaf",
        [](Desk& d) {
            d.tape.leaf<double>({2, 3}, nullptr, true);
        },
        "leaf: no numbers for shape (2, 3); only a shape-only tape does without"},
    {"a custom gradient of another shape",
        [](Desk& d) {
            sum(twice(d.x, [](const auto&, const auto&, const auto& gy) {
                return xt::eval(2. * xt::sum(gy, {0}));
            })).backward();
        },
        "twice: vjp gave a gradient of shape (3) for input 'x' of shape (2, 3); sum it over what was broadcast"},
    {"two custom gradients for one input",
        [](Desk& d) {
            sum(twice(d.x, [](const auto&, const auto&, const auto& gy) { return std::tuple(gy, gy); })).backward();
        },
        "twice: vjp gave 2 gradients for 1 inputs"},
    {"names for other inputs than there are",
        [](Desk& d) {
            custom(
                "same", [](const auto& a) { return a; }, [](const auto&, const auto&, const auto& gy) { return gy; },
                {.inputs = {"a", "b"}}, d.x);
        },
        "same: its options name 2 inputs of 1"},
    {"dual numbers through lambdas over double",
        [](Desk& d) {
            const auto y = custom(
                "cube", [](const Doubles& a) { return Doubles(a * a * a); },
                [](const Doubles& a, const Doubles&, const Doubles& gy) { return Doubles(3. * a * a * gy); }, d.row);
            hvp(sum(y), d.row, Doubles{1, 0, 0});
        },
        "hvp: line 3 (cube) runs in double only; lambdas over const auto& run in every scalar"},
    {"a direction of another shape",
        [](Desk& d) {
            jvp(exp(d.row), d.row, Doubles{1, 2});
        },
        "jvp: the direction has shape (2), x has (3)"},
    {"one direction for two variables",
        [](Desk& d) {
            jvp(d.row * d.s, Vars{d.row, d.s}, {Doubles{1, 2, 3}});
        },
        "jvp: 1 directions for 2 variables; give one for each"},
    {"a Hessian of an array", [](Desk& d) { chalkgrad::hessian(exp(d.row), d.row); },
        "hessian: y has shape (3), not one element; reduce it with sum() or mean()"},
};

} // namespace

BOOST_AUTO_TEST_CASE(each_is_told_what_is_wrong) {
    for (const Wrong& wrong : programs) {
        Desk desk;
        std::string said = "nothing";
        try {
            wrong.program(desk);
        } catch (const Error& error) { said = error.what(); }
        BOOST_TEST(said == wrong.sentence, wrong.name << ": " << said);
    }
}

// Right, though it looks wrong: what a user may rely on.
BOOST_AUTO_TEST_CASE(what_looks_wrong_and_is_right) {
    Desk d;
    const auto y = sum(d.row);
    y.backward();
    y.backward(); // adds up in the leaves
    BOOST_TEST(d.row.grad()(0) == 2);
    Var<double> outlives;
    {
        const Tape gone;
        outlives = gone.variable(Doubles{1, 2}, "x");
    }
    BOOST_TEST((outlives * outlives).value()(1) == 4);      // a handle keeps its tape
    BOOST_TEST((d.row - Doubles{1, 2, 3}).value()(2) == 0); // an array beside a Var is a constant
    BOOST_TEST((xt::xarray<int>{1, 2, 3} * d.row).value()(2) == 9);
    const Doubles one_row{{1, 2}};
    BOOST_TEST(Shape(one_row.shape()) == (Shape{1, 2}));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace test_wrong_programs
