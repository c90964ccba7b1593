// Jacobians and Hessians by replaying a recorded program in double and in dual numbers.
#include <chalkgrad/autograd/check/jacobian.hpp>

#include <algorithm>
#include <numeric>

#include <chalkgrad/autograd/tape/replay.hpp>

namespace chalkgrad {
namespace {

using Vars = std::vector<Var<double>>;
using Arrays = std::vector<Array<double>>;

Array<double> zeros_of(const Shape& shape) {
    Array<double> result = array_of<double>(shape);
    std::fill(result.begin(), result.end(), 0.);
    return result;
}

/// The program up to y in scalar U, with the xs as its variables.
template <class U> class Program {
public:
    Program(const char* what, const Var<double>& y, const Vars& xs)
        : what_(what), y_(y), xs_(xs), replay_({y}, checked_lines(what, y, xs)) {}

    U* x(std::size_t k) { return replay_.values(xs_[k].line()); }
    const U* y() { return replay_.values(y_.line()); }
    const U* gradient(std::size_t k) { return replay_.gradient(xs_[k].line()); }
    void forward() { replay_.run(); }
    /// Only some lines: those that depend on x k.
    void forward(const std::vector<std::uint32_t>& lines) { replay_.run(lines); }
    std::vector<std::uint32_t> dependents(std::size_t k) const { return replay_.dependents(xs_[k].line()); }
    void backward(const U* cotangent) { replay_.backward(y_.line(), cotangent); }

    /// The tangents of the xs are those directions.
    void set_directions(const Arrays& vs) {
        if (vs.size() != xs_.size())
            throw Error(std::string(what_) + ": " + std::to_string(vs.size()) + " directions for " +
                        std::to_string(xs_.size()) + " variables; give one for each");
        for (std::size_t k = 0; k < xs_.size(); ++k) {
            if (Shape(vs[k].shape()) != xs_[k].shape())
                throw Error(std::string(what_) + ": the direction has shape " + to_string(Shape(vs[k].shape())) +
                            ", x has " + to_string(xs_[k].shape()));
            for (std::size_t j = 0; j < xs_[k].size(); ++j) x(k)[j].d = vs[k].data()[j];
        }
    }
    void require_one_element() const {
        if (y_.size() != 1)
            throw Error(std::string(what_) + ": y has shape " + to_string(y_.shape()) +
                        ", not one element; reduce it with sum() or mean()");
    }

private:
    static std::vector<std::uint32_t> checked_lines(const char* what, const Var<double>& y, const Vars& xs) {
        y.checked(what);
        if (std::string why; !Replay<U>::possible({y}, &why)) throw Error(std::string(what) + ": " + why);
        std::vector<std::uint32_t> lines;
        for (const Var<double>& x : xs) {
            const detail::Index i = lines.emplace_back(x.checked(what));
            const auto refuse = [&](const std::string& why) { throw Error(std::string(what) + ": " + why); };
            if (x.state() != y.state()) refuse("x and y are on two tapes; record both on one");
            const detail::Record& record = (*x.state())[i];
            if (record.op == nullptr && !record.has(detail::Record::variable))
                refuse(x.state()->label(i) + " is no variable; make it with tape.variable()");
            if (i > y.line())
                refuse(y.state()->label(static_cast<detail::Index>(y.line())) +
                       " was recorded before x and cannot depend on it");
        }
        std::sort(lines.begin(), lines.end());
        return lines;
    }

    const char* what_;
    const Var<double>& y_;
    const Vars& xs_;
    Replay<U> replay_;
};

/// What `part` reads of the gradients that a backward has left in the xs; zeros where there are none.
template <class U, class Part> Arrays gradients_of(Program<U>& program, const Vars& xs, Part part) {
    Arrays result;
    for (std::size_t k = 0; k < xs.size(); ++k) {
        Array<double>& g = result.emplace_back(zeros_of(xs[k].shape()));
        if (const U* numbers = program.gradient(k)) std::transform(numbers, numbers + g.size(), g.begin(), part);
    }
    return result;
}

using DualNumber = Dual<double>;
double tangent(const DualNumber& n) { return n.d; }

} // namespace

Arrays jacobian(const Var<double>& y, const Vars& xs, By by) {
    Arrays result;
    for (const Var<double>& x : xs) result.push_back(zeros_of({y.size(), x.size()}));
    if (by == By::rows) {
        Program<double> program("jacobian", y, xs);
        std::vector<double> cotangent(y.size(), 0);
        for (std::size_t i = 0; i < y.size(); ++i) {
            cotangent[i] = 1;
            program.backward(cotangent.data());
            cotangent[i] = 0;
            for (std::size_t k = 0; k < xs.size(); ++k)
                if (const double* g = program.gradient(k))
                    std::copy_n(g, xs[k].size(), result[k].data() + i * xs[k].size());
        }
        return result;
    }
    Program<DualNumber> program("jacobian", y, xs);
    for (std::size_t k = 0; k < xs.size(); ++k) {
        const auto lines = program.dependents(k);
        for (std::size_t j = 0; j < xs[k].size(); ++j) {
            program.x(k)[j].d = 1;
            program.forward(lines);
            program.x(k)[j].d = 0;
            for (std::size_t i = 0; i < y.size(); ++i) result[k].data()[i * xs[k].size() + j] = program.y()[i].d;
        }
        program.forward(lines); // the tangents of this x are gone before those of the next
    }
    return result;
}

Array<double> jvp(const Var<double>& y, const Vars& xs, const Arrays& vs) {
    Program<DualNumber> program("jvp", y, xs);
    program.set_directions(vs);
    program.forward();
    Array<double> result = array_of<double>(y.shape());
    std::transform(program.y(), program.y() + y.size(), result.begin(), tangent);
    return result;
}

Arrays vjp(const Var<double>& y, const Vars& xs, const Array<double>& w) {
    Program<double> program("vjp", y, xs);
    if (Shape(w.shape()) != y.shape())
        throw Error("vjp: the cotangent has shape " + to_string(Shape(w.shape())) + ", y has " + to_string(y.shape()));
    program.backward(w.data());
    return gradients_of(program, xs, [](double n) { return n; });
}

Arrays hvp(const Var<double>& y, const Vars& xs, const Arrays& vs) {
    Program<DualNumber> program("hvp", y, xs);
    program.require_one_element();
    program.set_directions(vs);
    program.forward();
    const DualNumber one(1);
    program.backward(&one);
    return gradients_of(program, xs, tangent);
}

Array<double> hessian(const Var<double>& y, const Vars& xs) {
    Program<DualNumber> program("hessian", y, xs);
    program.require_one_element();
    const std::size_t n = std::transform_reduce(
        xs.begin(), xs.end(), std::size_t(0), std::plus(), [](const Var<double>& x) { return x.size(); });
    Array<double> h = array_of<double>({n, n});
    const DualNumber one(1);
    std::size_t column = 0;
    for (std::size_t k = 0; k < xs.size(); ++k)
        for (std::size_t j = 0; j < xs[k].size(); ++j, ++column) {
            program.x(k)[j].d = 1;
            program.forward();
            program.backward(&one); // reads the tangent of x, so that is taken away only after it
            program.x(k)[j].d = 0;
            std::size_t row = 0;
            for (const Array<double>& g : gradients_of(program, xs, tangent))
                for (const double slope : g) h.data()[row++ * n + column] = slope;
        }
    return h;
}

Array<double> jacobian(const Var<double>& y, const Var<double>& x, By by) { return jacobian(y, Vars{x}, by)[0]; }
Array<double> jvp(const Var<double>& y, const Var<double>& x, const Array<double>& v) {
    return jvp(y, Vars{x}, Arrays{v});
}
Array<double> vjp(const Var<double>& y, const Var<double>& x, const Array<double>& w) { return vjp(y, Vars{x}, w)[0]; }
Array<double> hvp(const Var<double>& y, const Var<double>& x, const Array<double>& v) {
    return hvp(y, Vars{x}, Arrays{v})[0];
}
Array<double> hessian(const Var<double>& y, const Var<double>& x) { return hessian(y, Vars{x}); }

} // namespace chalkgrad
