// Jacobians and Hessians by replaying a recorded program in double and in dual numbers.
#include <chalkgrad/autograd/check/jacobian.hpp>

#include <algorithm>

#include <chalkgrad/autograd/tape/replay.hpp>

namespace chalkgrad {
namespace {

using DualNumber = Dual<double>;

Array<double> array_of(const Shape& shape) {
    return Array<double>(Array<double>::shape_type(shape.begin(), shape.end()));
}

void require_variable(const char* what, const Var<double>& y, const Var<double>& x) {
    const detail::Index i = x.checked(what);
    y.checked(what);
    if (x.state() != y.state()) throw Error(std::string(what) + ": x and y are on two tapes; record both on one");
    if (!(*x.state())[i].has(detail::Record::variable))
        throw Error(std::string(what) + ": " + x.state()->label(i) + " is no variable; make it with tape.variable()");
    if (x.line() > y.line())
        throw Error(std::string(what) + ": " + y.state()->label(static_cast<detail::Index>(y.line())) +
                    " was recorded before x and cannot depend on it");
}

void require_one_element(const char* what, const Var<double>& y) {
    if (y.size() != 1)
        throw Error(std::string(what) + ": y has shape " + to_string(y.shape()) +
                    ", not one element; reduce it with sum() or mean()");
}

void set_direction(const char* what, Replay<DualNumber>& program, const Var<double>& x, const Array<double>& v) {
    if (Shape(v.shape().begin(), v.shape().end()) != x.shape())
        throw Error(std::string(what) + ": the direction has shape " +
                    to_string(Shape(v.shape().begin(), v.shape().end())) + ", x has " + to_string(x.shape()));
    for (std::size_t j = 0; j < x.size(); ++j) program.values(x.line())[j].d = v.data()[j];
}

} // namespace

Array<double> jacobian(const Var<double>& y, const Var<double>& x, By by) {
    require_variable("jacobian", y, x);
    Array<double> j = array_of({y.size(), x.size()});
    std::fill(j.begin(), j.end(), 0.);
    if (by == By::rows) {
        Replay<double> program({y});
        std::vector<double> cotangent(y.size(), 0);
        for (std::size_t i = 0; i < y.size(); ++i) {
            cotangent[i] = 1;
            program.backward(y.line(), cotangent.data());
            cotangent[i] = 0;
            if (const double* g = program.gradient(x.line())) std::copy_n(g, x.size(), j.data() + i * x.size());
        }
    } else {
        Replay<DualNumber> program({y});
        const auto lines = program.dependents(x.line());
        for (std::size_t k = 0; k < x.size(); ++k) {
            program.values(x.line())[k].d = 1;
            program.run(lines);
            program.values(x.line())[k].d = 0;
            for (std::size_t i = 0; i < y.size(); ++i) j.data()[i * x.size() + k] = program.values(y.line())[i].d;
        }
    }
    return j;
}

Array<double> jvp(const Var<double>& y, const Var<double>& x, const Array<double>& v) {
    require_variable("jvp", y, x);
    Replay<DualNumber> program({y});
    set_direction("jvp", program, x, v);
    program.run();
    Array<double> result = array_of(y.shape());
    std::transform(program.values(y.line()), program.values(y.line()) + y.size(), result.begin(),
        [](const DualNumber& n) { return n.d; });
    return result;
}

Array<double> hvp(const Var<double>& y, const Var<double>& x, const Array<double>& v) {
    require_variable("hvp", y, x);
    require_one_element("hvp", y);
    Replay<DualNumber> program({y});
    set_direction("hvp", program, x, v);
    program.run();
    const DualNumber one(1);
    program.backward(y.line(), &one);
    Array<double> result = array_of(x.shape());
    std::fill(result.begin(), result.end(), 0.);
    if (const DualNumber* g = program.gradient(x.line()))
        std::transform(g, g + x.size(), result.begin(), [](const DualNumber& n) { return n.d; });
    return result;
}

Array<double> hessian(const Var<double>& y, const Var<double>& x) {
    require_variable("hessian", y, x);
    require_one_element("hessian", y);
    const std::size_t n = x.size();
    Array<double> h = array_of({n, n});
    std::fill(h.begin(), h.end(), 0.);
    Replay<DualNumber> program({y});
    const DualNumber one(1);
    for (std::size_t k = 0; k < n; ++k) {
        program.values(x.line())[k].d = 1;
        program.run();
        program.backward(y.line(), &one); // reads the tangent of x, so that is taken away only after it
        program.values(x.line())[k].d = 0;
        if (const DualNumber* g = program.gradient(x.line()))
            for (std::size_t i = 0; i < n; ++i) h.data()[i * n + k] = g[i].d;
    }
    return h;
}

} // namespace chalkgrad
