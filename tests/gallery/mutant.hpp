// A right op with a wrong backward: everything of the op it decorates, but for its vjp.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include <chalkgrad/autograd/tape/tape.hpp>

namespace chalkgrad::gallery {

inline double sigma(double x) { return 1 / (1 + std::exp(-x)); }
inline double sech2(double x) { return 1 / (std::cosh(x) * std::cosh(x)); }

/// What a wrong vjp is handed, and the right one to start from.
struct Backward {
    const Op& right;
    Ins<double> in;
    In<double> y, gy;
    const double* saved;
    Outs<double> gx;

    void run_right() const { right.vjp(in, y, gy, saved, gx); }
    /// The right vjp of another cotangent.
    void run_right(const std::vector<double>& other_gy) const {
        right.vjp(in, y, {other_gy.data(), y.shape}, saved, gx);
    }
};
using WrongVjp = std::function<void(const Backward&)>;

/// How the op stands on the tape: as a rule, as one that runs in double only, or as custom() makes it of two lambdas, which say
/// nothing of kinks and lengths.
enum class Form { rule, double_only, custom };

class Mutant final : public Op {
public:
    Mutant(const Op& right, WrongVjp wrong, Form form = Form::rule)
        : right_(right), wrong_(std::move(wrong)), form_(form) {}

    const char* name() const override { return right_.name(); }
    const char* input_name(std::size_t i) const override { return right_.input_name(i); }
    std::size_t required(std::size_t given) const override { return right_.required(given); }
    Role role() const override { return right_.role(); }
    void attributes(Attributes& out) const override { right_.attributes(out); }
    Shape shape(Shapes in) const override { return right_.shape(in); }
    std::size_t saved(Shapes in) const override { return right_.saved(in); }
    double length_scale(Ins<double> in) const override { return form_ == Form::custom ? 1 : right_.length_scale(in); }
    bool has_kinks() const override { return form_ != Form::custom && right_.has_kinks(); }
    bool skips_unwanted() const override { return right_.skips_unwanted(); }
    bool blocks_gradient() const override { return right_.blocks_gradient(); }
    bool changes_dtype() const override { return right_.changes_dtype(); }
    bool runs_in(Dtype dtype) const override {
        return right_.runs_in(dtype) && (form_ == Form::rule || dtype == Dtype::f64);
    }

#define CHALKGRAD_DELEGATE(T)                                                                    \
    void forward(Ins<T> in, Out<T> y, T* saved) const override { right_.forward(in, y, saved); } \
    void vjp(Ins<T> in, In<T> y, In<T> gy, const T* saved, Outs<T> gx) const override { spoilt(in, y, gy, saved, gx); }
    CHALKGRAD_FOR_WORK_SCALARS(CHALKGRAD_DELEGATE)
#undef CHALKGRAD_DELEGATE
    void kinks(Ins<double> in, KinkSides& out) const override {
        if (has_kinks()) right_.kinks(in, out);
    }
    void kinks(Ins<long double> in, KinkSides& out) const override { right_.kinks(in, out); }

    Op* copy_to(void* place) const override { return ::new (place) Mutant(*this); }
    std::size_t bytes() const override { return sizeof(Mutant); }

private:
    // As wrong in float and long double as in double, as a templated rule would be; right in dual numbers, which only second
    // derivatives ask for.
    template <class T> void spoilt(Ins<T> in, In<T> y, In<T> gy, const T* saved, Outs<T> gx) const {
        if constexpr (std::is_same_v<T, double>) {
            wrong_({right_, in, y, gy, saved, gx});
        } else if constexpr (std::is_floating_point_v<T>) {
            std::deque<std::vector<double>> numbers;
            const auto in_double = [&](In<T> x) {
                return In<double>{numbers.emplace_back(x.data, x.data + x.size()).data(), x.shape};
            };
            std::vector<In<double>> ins(in.size());
            std::vector<Out<double>> outs(in.size());
            std::vector<const Shape*> shapes(in.size());
            for (std::size_t k = 0; k < in.size(); ++k) {
                if (in[k]) ins[k] = in_double(in[k]);
                if (gx[k].data != nullptr)
                    outs[k] = {numbers.emplace_back(gx[k].size()).data(), gx[k].shape, gx[k].wanted};
                shapes[k] = in[k].shape;
            }
            const std::vector<double> kept(saved, saved + right_.saved({shapes.data(), shapes.size()}));
            wrong_({right_, {ins.data(), ins.size()}, in_double(y), in_double(gy), kept.data(),
                {outs.data(), outs.size()}});
            for (std::size_t k = 0; k < in.size(); ++k)
                if (gx[k])
                    std::transform(outs[k].data, outs[k].data + outs[k].size(), gx[k].data,
                        [](double g) { return static_cast<T>(g); });
        } else {
            right_.vjp(in, y, gy, saved, gx);
        }
    }
    const Op& right_;
    WrongVjp wrong_;
    Form form_;
};

/// The last line of that op before y; a composite records several.
inline std::size_t line_of(const Var<double>& y, const std::string& op) {
    for (std::size_t i = y.line() + 1; i-- > 0;)
        if (const Op* at = (*y.state())[static_cast<detail::Index>(i)].op; at != nullptr && op == at->name()) return i;
    throw Error("gallery: there is no line of " + op + " on the tape");
}

/// Puts a mutant in the place of the op of one line while it lives.
class Planted {
public:
    Planted(const Var<double>& y, std::size_t line, WrongVjp wrong, Form form = Form::rule)
        : state_(y.state_ref()),
          line_(static_cast<detail::Index>(line)),
          right_(*(*state_)[line_].op),
          mutant_(right_, std::move(wrong), form) {
        (*state_)[line_].op = &mutant_;
    }
    Planted(const Planted&) = delete;
    Planted& operator=(const Planted&) = delete;
    ~Planted() { (*state_)[line_].op = &right_; }

private:
    detail::StateRef state_;
    detail::Index line_;
    const Op& right_;
    Mutant mutant_;
};

// ---- ways to be wrong

/// Changes what the right vjp has written, or replaces it.
inline WrongVjp then(std::function<void(const Backward&)> spoil) {
    return [=](const Backward& c) {
        c.run_right();
        spoil(c);
    };
}

/// The gradient of operand k, where it is wanted, times a factor.
inline WrongVjp scaled(std::size_t k, double factor) {
    return then([=](const Backward& c) {
        if (c.gx[k])
            for (std::size_t i = 0; i < c.gx[k].size(); ++i) c.gx[k][i] *= factor;
    });
}

/// Right for all operands but k.
inline WrongVjp only(std::size_t k, WrongVjp wrong) {
    return [=](const Backward& c) {
        c.run_right();
        if (!c.gx[k]) return;
        std::deque<std::vector<double>> aside; // the others are right already: what `wrong` writes for them is lost
        std::vector<Out<double>> outs(c.in.size());
        for (std::size_t i = 0; i < outs.size(); ++i)
            if (i == k) outs[i] = c.gx[i];
            else if (c.gx[i].data != nullptr)
                outs[i] = {aside.emplace_back(c.gx[i].size()).data(), c.gx[i].shape, false};
        wrong({c.right, c.in, c.y, c.gy, c.saved, {outs.data(), outs.size()}});
    };
}

/// Right, but of another cotangent: change(gy, call).
inline WrongVjp of_cotangent(std::function<void(std::vector<double>&, const Backward&)> change) {
    return [=](const Backward& c) {
        std::vector<double> gy(c.gy.data, c.gy.data + c.gy.size());
        change(gy, c);
        c.run_right(gy);
    };
}

/// Of operand k only the last contribution arrives: overwritten where it should have been added up.
inline WrongVjp last_only(std::size_t k) {
    return only(k, of_cotangent([k](std::vector<double>& gy, const Backward& c) {
        std::fill(gy.begin(), gy.end() - static_cast<std::ptrdiff_t>(std::min(c.in[k].size(), gy.size())), 0.);
    }));
}

/// Element by element: gx of operand k = gy · f(call, i).
inline WrongVjp slope(std::size_t k, std::function<double(const Backward&, std::size_t)> f) {
    return only(k, [=](const Backward& c) {
        for (std::size_t i = 0; i < c.gy.size(); ++i) c.gx[k][i] = c.gy[i] * f(c, i);
    });
}
/// The same for functions of one element: gx = gy · f(x, y).
inline WrongVjp slope(std::function<double(double, double)> f) {
    return slope(0, [=](const Backward& c, std::size_t i) { return f(c.in[0][i], c.y[i]); });
}

/// The right gradient of another function of the same inputs: a lost constant, another axis, a statistic held fixed.
inline WrongVjp derivative_of(std::function<Var<double>(const std::vector<Var<double>>&)> f) {
    return [=](const Backward& c) {
        Tape tape;
        std::vector<Var<double>> x;
        for (std::size_t k = 0; k < c.in.size(); ++k)
            x.push_back(c.in[k] ? tape.leaf<double>(*c.in[k].shape, c.in[k].data, true) : Var<double>());
        const Var<double> y = f(x);
        Array<double> gy(std::vector<std::size_t>(y.shape().begin(), y.shape().end()));
        std::copy_n(c.gy.data, gy.size(), gy.begin());
        y.backward(gy);
        for (std::size_t k = 0; k < c.in.size(); ++k) {
            if (!c.gx[k]) continue;
            if (x[k].has_grad()) std::copy(x[k].grad().begin(), x[k].grad().end(), c.gx[k].data);
            else std::fill_n(c.gx[k].data, c.gx[k].size(), 0.);
        }
    };
}

/// f(x row, gx row) for every row of operand 0 behind the right vjp.
inline WrongVjp each_row(
    std::function<void(const Backward&, std::size_t row, std::size_t d, const double* x, double* gx)> spoil) {
    return then([=](const Backward& c) {
        if (!c.gx[0]) return;
        const std::size_t d = c.in[0].last();
        for (std::size_t t = 0; t < c.in[0].rows(); ++t) spoil(c, t, d, c.in[0].data + t * d, c.gx[0].data + t * d);
    });
}

} // namespace chalkgrad::gallery
