// What a picture of a graph shows: boxes, arrows and frames, at the level of detail that was asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <chalkgrad/autograd/graph/graph.hpp>

namespace chalkgrad {

/// A line of small text in a box, set off by its colour.
struct Note {
    enum class Kind { attribute, parameter, value, gradient, missing };
    Kind kind;
    std::string text;
};

struct DrawOptions {
    enum class Level {
        module, ///< scopes as boxes, parameters inside them; only scopes that hold residual adds are opened
        op      ///< every line of the tape
    };
    Level level = Level::module;
    std::optional<std::size_t> depth; ///< how many levels of scopes to open, from 1: instead of what the level opens
    bool fold_repeats = true;         ///< scopes beside each other that are alike are drawn once
    bool backward = false;            ///< arrows for the cotangents, against the data
    std::vector<std::vector<Note>> notes;    ///< by line, or empty; a box of several lines shows those of its result
    std::vector<std::vector<Note>> formulas; ///< by line, or empty: for boxes of one op
};

struct Box {
    enum class Look { input, output, parameter, constant, add, norm, linear, activation, attention, other };
    std::string id; ///< "line-17", "scope-3", "out-17": unique in the drawing
    Look look;
    std::string title;
    std::vector<Note> notes;
    std::string tooltip;
    std::vector<std::size_t> lines; ///< what it stands for
    std::size_t frame;
    bool on_stream = false;
};

struct Arrow {
    enum class Look { data, residual, cotangent };
    std::size_t from, to; ///< boxes
    std::string id, label;
    Look look;
};

/// A frame around the boxes of an opened scope. Frame 0 is the drawing.
struct Frame {
    std::string id, title;
    std::size_t parent;
    std::size_t copies = 1; ///< how many alike scopes it stands for
    bool on_stream = false; ///< the stream runs through it
};

struct Drawing {
    std::string title, subtitle;
    std::vector<Box> boxes; ///< in tape order
    std::vector<Arrow> arrows;
    std::vector<Frame> frames;
};

/// How many levels of scopes a graph has, and so the largest depth that shows anything more.
std::size_t deepest(const Graph& graph);

/// By scope, whether a drawing opens it: what is in the others is one box. Throws Error for a depth out of range.
std::vector<char> opened_scopes(const Graph& graph, const DrawOptions& options);

/// The boxes and arrows of a graph. A parameter or constant that one box alone reads is part of it at module level; one that
/// several read is drawn once. Throws Error for a depth out of range.
Drawing draw(const Graph& graph, const DrawOptions& options = {});

/// The same, or where that has more than `most` boxes the module level, or where that has too, the outermost scopes alone.
/// `coarser` then says what was drawn instead. Graphviz takes seconds from about 1,500 boxes on.
Drawing draw_at_most(const Graph& graph, DrawOptions options, std::size_t most, std::string& coarser);

} // namespace chalkgrad
