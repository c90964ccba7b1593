// Parameters live outside every tape; a Binding puts each of them on one tape, once. What a module is.
//
// A module is a struct of options, parameters and other modules. It is built from a struct of options, and has
//     template <class T> Var<T> operator()(Binding<T>& on, const Var<T>& x) const;  // records its lines on on's tape
//     void visit(const Visitor& visitor) const;                                     // names its parameters, in order
// To use one:
//     Ffn ffn({.d = 64, .width = 172});            // shapes only: no numbers yet
//     Generator rng(0);
//     initialize(ffn, rng);                        // draws them
//     Tape tape;
//     Binding<double> on(tape);
//     const auto y = ffn(on, tape.constant(x));    // a fresh Binding for each tape; shapes only: no initialize()
//     y.backward(gy);                              // then on(ffn.down.weight).grad()
// A Parameter is a handle: a copy is the same parameter, which is how weights are tied.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <chalkgrad/autograd/tape/apply.hpp>
#include <chalkgrad/nn/core/init.hpp>

namespace chalkgrad::nn {

/// A size as ops take it in shapes and slices, where negative numbers have a meaning.
constexpr std::ptrdiff_t extent(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

/// A named array that is learned, or kept fixed (a buffer). It has a shape from the start and numbers once they are given.
class Parameter {
public:
    /// Absent: the bias of a layer without one. Converts to false.
    Parameter() = default;
    /// `component` is what a ledger counts it under: "attn", "ffn", "block_norm", ….
    Parameter(std::string name, const Shape& shape, std::string component, const Init& init, bool learned = true);

    explicit operator bool() const { return state_ != nullptr; }
    const std::string& name() const { return state_->name; }
    const Shape& shape() const { return state_->shape; }
    const std::string& component() const { return state_->component; }
    bool learned() const { return state_->learned; }

    const Init& init() const { return state_->init; }
    void set_init(const Init& init) const { state_->init = init; }
    /// Writes numbers: rows first … first + count − 1 of the first axis.
    using Source = std::function<void(std::size_t first, std::size_t count, double* to)>;

    /// Whether it has numbers.
    bool has_value() const { return state_->has_value; }
    /// Throws Error where it has none. Those of a source are read, and kept from then on.
    const Array<double>& value() const;
    /// A copy of some rows of the first axis. Those of a source are read and not kept. Throws Error for rows that it has not.
    Array<double> rows(std::size_t first, std::size_t count) const;
    /// Gives it numbers; throws Error for another shape.
    void assign(const Array<double>& value) const;
    /// Gives it numbers that stay where they are, in a file say, and are read whenever a tape needs them.
    void read_from(Source source) const;
    /// Whether its numbers are read anew each time.
    bool has_source() const { return state_->source != nullptr; }
    /// Gives it the numbers of another, or their source; throws Error for another shape.
    void take(const Parameter& other) const;

    /// Whether both are the same parameter, not merely equal.
    friend bool operator==(const Parameter& a, const Parameter& b) { return a.state_ == b.state_; }
    const void* id() const { return state_.get(); }

private:
    struct State {
        std::string name, component;
        Shape shape;
        Init init;
        bool learned;
        bool has_value = false;
        Array<double> value;
        Source source;
    };
    std::shared_ptr<State> state_;
};

/// Walks the parameters of a module and says the dotted name of each: "layers.3.attention.wq".
class Visitor {
public:
    using Action = std::function<void(const std::string& name, const Parameter&)>;
    explicit Visitor(const Action& action) : action_(&action) {}

    /// A parameter; an absent one is passed over.
    void operator()(const Parameter& parameter) const {
        if (parameter) (*action_)(path_ + parameter.name(), parameter);
    }
    /// A module whose parameters are named as this one's own.
    template <class Module> void operator()(const Module& module) const { module.visit(*this); }
    /// A module whose parameters are named below `name`.
    template <class Module> void operator()(std::string_view name, const Module& module) const {
        Visitor below(*action_);
        below.path_ = path_ + std::string(name) + ".";
        module.visit(below);
    }

private:
    const Action* action_;
    std::string path_;
};

/// A parameter by its dotted name.
struct NamedParameter {
    std::string name;
    Parameter parameter;
};
/// All of a module, in its order. One that is tied appears under each of its names.
template <class Module> std::vector<NamedParameter> parameters_of(const Module& module) {
    std::vector<NamedParameter> list;
    const Visitor::Action append = [&](const std::string& name, const Parameter& p) { list.push_back({name, p}); };
    module.visit(Visitor(append));
    return list;
}

/// Draws the numbers of every parameter from its Init, in order; a tied one once.
void initialize(const std::vector<NamedParameter>& parameters, Generator& rng);
template <class Module> void initialize(const Module& module, Generator& rng) {
    initialize(parameters_of(module), rng);
}
/// The same with every number moved off its usual start, gains off 1 and biases off 0: what a check of gradients needs.
void initialize_for_check(const std::vector<NamedParameter>& parameters, Generator& rng);
template <class Module> void initialize_for_check(const Module& module, Generator& rng) {
    initialize_for_check(parameters_of(module), rng);
}

/// The parameters that are on one tape. Each is recorded where it is first used and is one line from then on, so the
/// gradients of all its uses add up. Good until the tape is rewound past those lines. T may be any scalar of a Var: the
/// numbers are rounded to it once.
template <class T> class Binding {
public:
    explicit Binding(const Tape& tape) : tape_(tape) {}
    Binding(const Binding&) = delete;
    Binding& operator=(const Binding&) = delete;

    const Tape& tape() const { return tape_; }
    [[nodiscard]] Scope scope(std::string_view name, Role role = Role::none) const { return tape_.scope(name, role); }

    /// Its line; an absent Var for an absent parameter. Throws Error for one without numbers, unless the tape keeps shapes only.
    Var<T> operator()(const Parameter& parameter);
    /// Lets a line of the tape stand for a parameter. Throws Error for another shape, and if it has been used before.
    void bind(const Parameter& parameter, const Var<T>& line);

    struct Bound {
        Parameter parameter;
        Var<T> line;
    };
    /// In the order of first use.
    const std::vector<Bound>& bound() const { return bound_; }
    /// The lines of those that are learned: what hvp(), hessian() and gradcheck() take.
    std::vector<Var<T>> variables() const;

private:
    Tape tape_;
    std::vector<Bound> bound_;
    std::unordered_map<const void*, std::size_t> index_;
};

} // namespace chalkgrad::nn
