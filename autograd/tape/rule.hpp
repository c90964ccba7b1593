// The contract between an op and everything that runs it: what a rule is handed, and how a rule struct becomes an Op.
//
// A rule is one small struct:
//     struct RmsNorm {
//         static constexpr const char* name = "rms_norm";
//         static constexpr const char* inputs[] = {"x", "gamma"};              // what is differentiable is an argument
//         double eps;                                                          // what is not is a field
//         Shape shape(Shapes in) const;                                        // checks its arguments, throws Error
//         std::size_t saved(Shapes in) const;                                  // optional: numbers kept for the backward
//         template <class T> void forward(Ins<T> in, Out<T> y, T* saved) const;
//         template <class T> void vjp(Ins<T> in, In<T> y, In<T> gy, const T* saved, Outs<T> gx) const;
//         // optional:
//         static constexpr std::size_t required = 1;                           // inputs that must be given, from the first; all if absent
//         static constexpr Role role = Role::norm;                             // what drawings and topology read
//         static constexpr bool skips_unwanted = true;                         // vjp looks which gradients are wanted: no room for others
//         void attributes(Attributes& out) const;                              // names and values of the fields
//         double length_scale(Ins<double> in) const;                           // length over which the op bends; 1 if absent
//         void kinks(Ins<T> in, KinkSides& out) const;                         // T = double, long double: which side of each kink
//     };
// forward fills all of y; vjp fills all of gx[i] wherever gx[i] is wanted (gx[i] converts to true), and only assigns. A gradient
// that nobody wants has room too, which vjp may fill or not: no rule needs a check. With skips_unwanted it has none.
// Buffers never overlap. An absent optional input converts to false.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <chalkgrad/autograd/base/attributes.hpp>
#include <chalkgrad/autograd/base/scalar.hpp>
#include <chalkgrad/autograd/base/shape.hpp>

namespace chalkgrad {

/// What an op is for; drawings and topology read this and know no op by name.
enum class Role : std::uint8_t { none, add, linear, norm, activation, gate, attention, structure };
const char* name(Role role);

/// An array that a rule reads: contiguous, row-major. Converts to false for an absent optional input.
template <class T> struct In {
    const T* data = nullptr;
    const Shape* shape = nullptr;

    explicit operator bool() const { return shape != nullptr; }
    std::size_t size() const { return shape->size(); }
    std::size_t last() const { return shape->last(); }
    std::size_t rows() const { return shape->rows(); }
    const T& operator[](std::size_t i) const { return data[i]; }
};

/// An array that a rule fills. As a gradient it converts to false where nobody wants it, also when there is room for it.
template <class T> struct Out {
    T* data = nullptr;
    const Shape* shape = nullptr;
    bool wanted = true;

    explicit operator bool() const { return shape != nullptr && wanted; }
    std::size_t size() const { return shape->size(); }
    std::size_t last() const { return shape->last(); }
    std::size_t rows() const { return shape->rows(); }
    T& operator[](std::size_t i) const { return data[i]; }
};

/// A short list of Ins, Outs or shapes, in the order of the op's inputs; reading past the end gives an absent one.
template <class Item> struct ListOf {
    const Item* items = nullptr;
    std::size_t count = 0;

    std::size_t size() const { return count; }
    Item operator[](std::size_t i) const { return i < count ? items[i] : Item(); }
};
template <class T> using Ins = ListOf<In<T>>;
template <class T> using Outs = ListOf<Out<T>>;

/// The shapes of an op's inputs.
struct Shapes {
    const Shape* const* items = nullptr;
    std::size_t count = 0;

    std::size_t size() const { return count; }
    bool has(std::size_t i) const { return i < count && items[i] != nullptr; }
    const Shape& operator[](std::size_t i) const { return *items[i]; }
};

/// Collects which side of every kink the elements lie on, as one fingerprint, and how many lie exactly on one.
class KinkSides {
public:
    /// One decision: -1 below the kink, 0 exactly on it, +1 above.
    void decide(int side) {
        fingerprint_ = (fingerprint_ ^ static_cast<std::uint64_t>(side + 2)) * 0x9E3779B97F4A7C15u;
        fingerprint_ ^= fingerprint_ >> 29;
        on_kink_ += side == 0;
    }
    template <class T> void compare(const T& value, const T& kink) { decide(value < kink ? -1 : kink < value ? 1 : 0); }
    /// The same for a kink with two sides that both belong to normal use (a clamp, relu; not a guard near 0): a check that saw
    /// only one of them has not seen the other's slope. `which` numbers the op's kinks, 0 … 3.
    template <class T> void branch(std::size_t which, const T& value, const T& kink) {
        compare(value, kink);
        Branch& seen = branches_[which];
        seen.kink = static_cast<double>(kink);
        seen.below += value < kink;
        seen.above += kink < value;
    }
    struct Branch {
        double kink = 0;
        std::size_t below = 0, above = 0;
    };
    const std::array<Branch, 4>& branches() const { return branches_; }
    std::uint64_t fingerprint() const { return fingerprint_; }
    std::size_t on_kink() const { return on_kink_; }

private:
    std::uint64_t fingerprint_ = 0x243F6A8885A308D3u;
    std::size_t on_kink_ = 0;
    std::array<Branch, 4> branches_{};
};

/// A rule with its fields, type-erased; immutable. One object serves all scalars.
class Op {
public:
    virtual ~Op() = default;
    virtual const char* name() const = 0;
    virtual const char* input_name(std::size_t i) const = 0;
    /// How many of `given` inputs, from the first, must not be absent.
    virtual std::size_t required(std::size_t given) const { return given; }
    virtual Role role() const { return Role::none; }
    virtual void attributes(Attributes&) const {}
    virtual Shape shape(Shapes in) const = 0;
    virtual std::size_t saved(Shapes) const { return 0; }
    virtual double length_scale(Ins<double>) const { return 1; }
    virtual bool has_kinks() const { return false; }
    /// Whether vjp does without room for the gradients that nobody wants.
    virtual bool skips_unwanted() const { return false; }
    /// A constant for the reverse sweep, whatever its inputs are.
    virtual bool blocks_gradient() const { return false; }
    /// The output has another dtype than the input: the tape converts, and runs neither forward nor vjp.
    virtual bool changes_dtype() const { return false; }
    /// Whether forward and vjp exist in that working scalar: a user's op from lambdas may know one only.
    virtual bool runs_in(Dtype) const { return true; }

#define CHALKGRAD_OP_FACE(T)                                       \
    virtual void forward(Ins<T> in, Out<T> y, T* saved) const = 0; \
    virtual void vjp(Ins<T> in, In<T> y, In<T> gy, const T* saved, Outs<T> gx) const = 0;
    CHALKGRAD_FOR_WORK_SCALARS(CHALKGRAD_OP_FACE)
#undef CHALKGRAD_OP_FACE
    virtual void kinks(Ins<double>, KinkSides&) const {}
    virtual void kinks(Ins<long double>, KinkSides&) const {}

    /// Copies the op to `place`, which has bytes() bytes; for the tape's own store.
    virtual Op* copy_to(void* place) const = 0;
    virtual std::size_t bytes() const = 0;
    virtual bool trivially_destructible() const { return false; }
};

/// The Op made of a rule struct.
template <class Rule> class OpOf final : public Op {
public:
    explicit OpOf(Rule rule) : rule_(std::move(rule)) {}

    const char* name() const override { return Rule::name; }
    const char* input_name(std::size_t i) const override {
        constexpr std::size_t known = std::size(Rule::inputs);
        return Rule::inputs[i < known ? i : known - 1];
    }
    std::size_t required(std::size_t given) const override {
        if constexpr (requires { Rule::required; }) return Rule::required;
        else return given;
    }
    Role role() const override {
        if constexpr (requires { Rule::role; }) return Rule::role;
        else return Role::none;
    }
    void attributes(Attributes& out) const override {
        if constexpr (requires { rule_.attributes(out); }) rule_.attributes(out);
    }
    Shape shape(Shapes in) const override { return rule_.shape(in); }
    std::size_t saved(Shapes in) const override {
        if constexpr (requires { rule_.saved(in); }) return rule_.saved(in);
        else return 0;
    }
    double length_scale(Ins<double> in) const override {
        if constexpr (requires { rule_.length_scale(in); }) return rule_.length_scale(in);
        else return 1;
    }
    bool skips_unwanted() const override {
        return requires { Rule::skips_unwanted; };
    }
    bool blocks_gradient() const override {
        return requires { Rule::blocks_gradient; };
    }
    bool changes_dtype() const override {
        return requires { Rule::changes_dtype; };
    }
    bool has_kinks() const override {
        return requires(Ins<double> in, KinkSides & out) { std::declval<const Rule&>().kinks(in, out); };
    }

#define CHALKGRAD_OP_FACE(T)                                                                                \
    void forward(Ins<T> in, Out<T> y, T* saved) const override { rule_.template forward<T>(in, y, saved); } \
    void vjp(Ins<T> in, In<T> y, In<T> gy, const T* saved, Outs<T> gx) const override {                     \
        rule_.template vjp<T>(in, y, gy, saved, gx);                                                        \
    }
    CHALKGRAD_FOR_WORK_SCALARS(CHALKGRAD_OP_FACE)
#undef CHALKGRAD_OP_FACE
    void kinks(Ins<double> in, KinkSides& out) const override {
        if constexpr (requires { rule_.kinks(in, out); }) rule_.kinks(in, out);
    }
    void kinks(Ins<long double> in, KinkSides& out) const override {
        if constexpr (requires { rule_.kinks(in, out); }) rule_.kinks(in, out);
    }

    Op* copy_to(void* place) const override { return ::new (place) OpOf(rule_); }
    std::size_t bytes() const override { return sizeof(OpOf); }
    bool trivially_destructible() const override { return std::is_trivially_destructible_v<Rule>; }

private:
    [[no_unique_address]] Rule rule_;
};

} // namespace chalkgrad
