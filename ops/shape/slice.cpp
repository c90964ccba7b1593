// slice:  y is a strided view of x. So x̄ is ȳ at those places and 0 at the others.
#include <chalkgrad/ops/shape/slice.hpp>

#include <charconv>

#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/shape/strided.hpp>

namespace chalkgrad {
namespace {

std::string to_text(const Index& index) {
    if (const auto* number = std::get_if<std::ptrdiff_t>(&index)) return std::to_string(*number);
    if (std::holds_alternative<Ellipsis>(index)) return "...";
    if (std::holds_alternative<NewAxis>(index)) return "None";
    const Range& range = std::get<Range>(index);
    const auto end = [](const std::optional<std::ptrdiff_t>& x) { return x ? std::to_string(*x) : std::string(); };
    return fmt::format(
        "{}:{}{}", end(range.start), end(range.stop), range.step == 1 ? "" : fmt::format(":{}", range.step));
}

struct Slice {
    static constexpr const char* name = "slice";
    static constexpr const char* inputs[] = {"x"};
    static constexpr Role role = Role::structure;
    std::vector<Index> indices;

    Shape shape(Shapes in) const { return view(in[0]).extents; }
    void attributes(Attributes& out) const { out.set("slice", text()); }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        gather<T>(view(*in[0].shape), in[0].data, y.data);
    }
    template <class T> void vjp(Ins<T>, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        std::fill_n(gx[0].data, gx[0].size(), T(0));
        scatter<T>(view(*gx[0].shape), gy.data, gx[0].data);
    }

private:
    std::string text() const {
        std::string result = "[";
        for (const Index& index : indices) result.append(result.size() == 1 ? "" : ", ").append(to_text(index));
        return result.append("]");
    }
    [[noreturn]] void refuse(const Shape& x, const std::string& why) const {
        throw Error(fmt::format("slice: {} of an array of shape {}: {}", text(), to_string(x), why));
    }

    View view(const Shape& x) const {
        std::size_t named = 0, ellipses = 0;
        for (const Index& index : indices) {
            ellipses += std::holds_alternative<Ellipsis>(index);
            named += std::holds_alternative<std::ptrdiff_t>(index) || std::holds_alternative<Range>(index);
        }
        if (indices.size() > 2 * Shape::max_rank)
            throw Error(
                fmt::format("slice: {} indices; an array has at most {} axes", indices.size(), Shape::max_rank));
        if (ellipses > 1) refuse(x, "there can be only one ellipsis");
        if (named > x.rank()) refuse(x, fmt::format("{} indices for {} axes", named, x.rank()));

        const View whole = View::of(x);
        View result;
        std::size_t axis = 0;
        const auto keep = [&](std::size_t extent, std::ptrdiff_t stride) {
            result.extents.push_back(extent); // refuses more axes than an array may have
            result.strides[result.extents.rank() - 1] = stride;
        };
        const auto keep_whole = [&](std::size_t axes) {
            for (; axes > 0; --axes, ++axis) keep(x[axis], whole.strides[axis]);
        };
        for (const Index& index : indices) {
            if (std::holds_alternative<Ellipsis>(index)) {
                keep_whole(x.rank() - named);
            } else if (std::holds_alternative<NewAxis>(index)) {
                keep(1, 0);
            } else if (const auto* number = std::get_if<std::ptrdiff_t>(&index)) {
                const auto extent = static_cast<std::ptrdiff_t>(x[axis]);
                if (*number < -extent || *number >= extent)
                    refuse(x, fmt::format("{} is out of range for axis {}, which has {}", *number, axis, extent));
                result.offset += (*number < 0 ? *number + extent : *number) * whole.strides[axis];
                ++axis;
            } else {
                const auto [start, length, step] = resolve(std::get<Range>(index), x, axis);
                result.offset += length == 0 ? 0 : start * whole.strides[axis];
                keep(length, step * whole.strides[axis]);
                ++axis;
            }
        }
        keep_whole(x.rank() - axis);
        return result;
    }

    struct Resolved {
        std::ptrdiff_t start;
        std::size_t length;
        std::ptrdiff_t step;
    };
    /// Python's slice.indices(extent).
    Resolved resolve(const Range& range, const Shape& x, std::size_t axis) const {
        if (range.step == 0) refuse(x, "the step is 0");
        const auto extent = static_cast<std::ptrdiff_t>(x[axis]);
        const bool forward = range.step > 0;
        const std::ptrdiff_t lowest = forward ? 0 : -1, highest = forward ? extent : extent - 1;
        const auto place = [&](std::ptrdiff_t i) { return std::clamp(i < 0 ? i + extent : i, lowest, highest); };
        const std::ptrdiff_t start = range.start ? place(*range.start) : forward ? lowest : highest;
        const std::ptrdiff_t stop = range.stop ? place(*range.stop) : forward ? highest : lowest;
        const std::ptrdiff_t distance = forward ? stop - start : start - stop;
        if (distance <= 0) return {0, 0, 1};
        // A step longer than the axis takes one element; as a stride it could overflow.
        const std::ptrdiff_t step = std::clamp(range.step, -extent, extent);
        return {start, static_cast<std::size_t>((distance - 1) / std::abs(step)) + 1, step};
    }
};

[[noreturn]] void no_slice(std::string_view text, const std::string& why) {
    throw Error(fmt::format("slice: '{}' is no slice: {}; write one like [..., 1:5, ::2]", text, why));
}

std::string_view trimmed(std::string_view s) {
    const std::size_t first = s.find_first_not_of(" \t\n");
    if (first == std::string_view::npos) return {};
    return s.substr(first, s.find_last_not_of(" \t\n") - first + 1);
}

std::ptrdiff_t number(std::string_view text, std::string_view part) {
    std::string_view digits = part;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::ptrdiff_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() ||
        (part.starts_with('+') && digits.starts_with('-')))
        no_slice(text, fmt::format("'{}' is no whole number", part));
    return value;
}

} // namespace

std::vector<Index> parse_slice(std::string_view text) {
    std::string_view rest = trimmed(text);
    if (rest.starts_with('[')) {
        if (!rest.ends_with(']') || rest.size() < 2) no_slice(text, "the bracket is not closed");
        rest = trimmed(rest.substr(1, rest.size() - 2));
    }
    if (rest.ends_with(',')) rest.remove_suffix(1); // as in x[1:3,]
    if (trimmed(rest).empty()) no_slice(text, "it is empty");
    std::vector<Index> indices;
    for (bool more = true; more;) {
        const std::size_t comma = rest.find(',');
        const std::string_view item = trimmed(rest.substr(0, comma));
        more = comma != std::string_view::npos;
        if (more) rest.remove_prefix(comma + 1);
        if (item == "...") {
            indices.emplace_back(Ellipsis{});
        } else if (item == "None") {
            indices.emplace_back(NewAxis{});
        } else if (item.find(':') == std::string_view::npos) {
            indices.emplace_back(number(text, item));
        } else {
            std::optional<std::ptrdiff_t> part[3];
            std::string_view parts = item;
            for (int k = 0;; ++k) {
                if (k == 3) no_slice(text, fmt::format("'{}' has more than two colons", item));
                const std::size_t colon = parts.find(':');
                const std::string_view one = trimmed(parts.substr(0, colon));
                if (!one.empty() && one != "None") part[k] = number(text, one);
                if (colon == std::string_view::npos) break;
                parts.remove_prefix(colon + 1);
            }
            indices.emplace_back(Range{part[0], part[1], part[2].value_or(1)});
        }
    }
    return indices;
}

template <class T> Var<T> slice(const Var<T>& x, const std::vector<Index>& indices) { return apply(Slice{indices}, x); }
template <class T> Var<T> slice(const Var<T>& x, std::string_view text) { return slice(x, parse_slice(text)); }

template <class T> using SliceByText = Var<T>(const Var<T>&, std::string_view);
template <class T> using SliceByIndices = Var<T>(const Var<T>&, const std::vector<Index>&);
CHALKGRAD_INSTANCES_OF(slice, SliceByText)
CHALKGRAD_INSTANCES_OF(slice, SliceByIndices)

CatalogEntry slice_entry() {
    return entry("slice", "x[start:stop:step, ...]", "Python", "x",
        [](Settings& c) { return rule_of(Slice{parse_slice(c.word("slice"))}); })
        .with_samples({"even: x(3,6) slice='[..., ::2]'", "odd: x(3,7) slice='[..., 1::2]'",
            "rows: x(5,3) slice='[1:-1]'", "backwards: x(4,5) slice='[::-1, 4:0:-2]'",
            "one: x(2,3,4) slice='[1, ..., -1]'", "new_axis: x(2,3) slice='[:, None, 1:]'"})
        .with_identities(homogeneous_in({{"x", 1}}));
}

} // namespace chalkgrad
