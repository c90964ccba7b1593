// Linear maps and tables of rows: the modules that hold nearly all parameters.
#pragma once

#include <cstdint>

#include <chalkgrad/nn/core/parameter.hpp>

namespace chalkgrad::nn {

/// y = x W + b (course §4): x (…, in), W (in, out), b (out) or absent. Starts at N(0, 1/in), the bias at 0.
struct Linear {
    Parameter weight, bias;

    /// Absent: a branch that a module does not have.
    Linear() = default;
    /// The weight is called `name`, the bias the same with b in front: "wq" and "bq". Biases count under component +
    /// "_bias". Throws Error for an extent of 0.
    Linear(const std::string& name, std::size_t in, std::size_t out, bool with_bias, const std::string& component);

    explicit operator bool() const { return static_cast<bool>(weight); }
    template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& x) const;
    void visit(const Visitor& v) const;
};

/// y[i…] = table[ids[i…]]: table (rows, d), rows a vocabulary or positions. Starts at N(0, 1/d). tied(x) is x tableᵀ,
/// the head that shares it.
struct Embedding {
    Parameter table;

    Embedding() = default;
    /// Throws Error for an extent of 0.
    Embedding(const std::string& name, std::size_t rows, std::size_t d, const std::string& component = "embed");

    explicit operator bool() const { return static_cast<bool>(table); }
    /// ids of any shape (…); y (…, d). Throws Error for an id outside 0 … rows − 1.
    template <class T> Var<T> operator()(Binding<T>& on, const Array<std::int64_t>& ids) const;
    /// x (…, d) as scores (…, rows): the same matrix used a second time (Press and Wolf 2017; course §10).
    template <class T> Var<T> tied(Binding<T>& on, const Var<T>& x) const;
    void visit(const Visitor& v) const { v(table); }
};

} // namespace chalkgrad::nn
