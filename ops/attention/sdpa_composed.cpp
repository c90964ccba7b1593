// Attention from primitive ops, and the catalogue's entries of both forms.

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/ops/attention/heads.hpp>
#include <chalkgrad/ops/attention/masks.hpp>
#include <chalkgrad/ops/attention/sdpa.hpp>
#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/elementwise/arithmetic.hpp>
#include <chalkgrad/ops/elementwise/softcap.hpp>
#include <chalkgrad/ops/linear/matmul.hpp>
#include <chalkgrad/ops/reduce/softmax.hpp>
#include <chalkgrad/ops/shape/shape_ops.hpp>
#include <chalkgrad/ops/shape/slice.hpp>

namespace chalkgrad {
namespace {

/// What causal and window leave visible, as an additive mask; absent where that is everything.
template <class T>
Var<T> position_mask(const Tape& tape, std::size_t queries, std::size_t keys, const AttentionOptions& o) {
    if (!o.causal && !o.window) return {};
    Array<bool> visible = Array<bool>::from_shape({queries, keys});
    for (std::size_t i = 0; i < queries; ++i)
        for (std::size_t j = 0; j < keys; ++j)
            visible(i, j) = (!o.causal || j <= i) && (!o.window || j + *o.window > i);
    return constant_of<T>(tape, mask_from(visible), "visible");
}

/// The capped scores and the sum of all masks.
template <class T>
std::pair<Var<T>, Var<T>> scores(const Var<T>& q, const Var<T>& k, const AttentionOptions& o, const Var<T>& mask) {
    const Var<T> shared = q.rank() > 2 ? repeat_kv(k, q.shape()[q.rank() - 3]) : k;
    const double scale = o.scale ? *o.scale : 1 / std::sqrt(static_cast<double>(q.shape().last()));
    Var<T> s = matmul(q, swap_axes(shared, 2, 1)) * static_cast<number_t<T>>(scale);
    if (o.softcap) s = softcap(s, *o.softcap);
    const Var<T> position = position_mask<T>(q.tape(), s.shape()[s.rank() - 2], s.shape().last(), o);
    return {s, !mask ? position : !position ? mask : position + mask};
}

/// A sink is one more column of scores, which no mask hides; its column of weights is cut off.
template <class T> Var<T> weights_beside_sinks(const Var<T>& z, const Var<T>& sinks) {
    const Shape& all = z.shape();
    Array<double> nothing = Array<double>::from_shape(std::vector<std::size_t>(all.begin(), all.end() - 1));
    nothing.fill(0);
    std::vector<std::ptrdiff_t> column(all.begin(), all.end());
    column.back() = 1;
    const Var<T> sink_scores = constant_of<T>(z.tape(), nothing, "zeros") + reshape(sinks, {-1, 1});
    const Var<T> joined = concat({z, reshape(sink_scores, column)}, -1);
    return slice(softmax(joined), {Ellipsis{}, Range{.stop = -1}});
}

} // namespace

template <class T>
Var<T> sdpa_sinks_composed(const Var<T>& q, const Var<T>& k, const Var<T>& v, const Var<T>& sinks,
    const AttentionOptions& options, const Var<T>& mask) {
    const auto [s, hidden] = scores(q, k, options, mask);
    const Var<T> p = sinks ? weights_beside_sinks(hidden ? s + hidden : s, sinks) : softmax(s, -1, hidden);
    return matmul(p, q.rank() > 2 ? repeat_kv(v, q.shape()[q.rank() - 3]) : v);
}

template <class T>
Var<T> sdpa_composed(
    const Var<T>& q, const Var<T>& k, const Var<T>& v, const AttentionOptions& options, const Var<T>& mask) {
    return sdpa_sinks_composed(q, k, v, Var<T>(), options, mask);
}

CHALKGRAD_INSTANCES(sdpa_composed, sdpa_sinks_composed)

namespace {

/// Attention's attributes by name; head counts given beside the shapes must agree with them.
template <class T>
AttentionOptions attention_options(const char* op, Arguments<T>& c, const Var<T>& q, const Var<T>& k) {
    const auto heads = [&](const char* attribute, const char* input, const Var<T>& x) {
        const auto given = c.maybe_integer(attribute);
        const std::size_t found = x.rank() > 2 ? x.shape()[x.rank() - 3] : 1;
        if (given && (*given < 0 || static_cast<std::size_t>(*given) != found))
            throw Error(fmt::format("{}: {} is {}, but {} has shape {} with {} heads", op, attribute, *given, input,
                to_string(x.shape()), found));
    };
    heads("heads_q", "q", q);
    heads("heads_kv", "k", k);
    AttentionOptions o;
    o.scale = c.limit("scale");
    o.causal = c.flag("causal", false);
    o.softcap = c.limit("softcap");
    if (const auto window = c.maybe_integer("window")) {
        if (*window < 1)
            throw Error(
                fmt::format("{}: window is {}; it counts the query itself, so it must be at least 1", op, *window));
        o.window = static_cast<std::size_t>(*window);
    }
    return o;
}

/// One call of sdpa or sdpa_sinks, or of its twin.
template <bool with_sinks, bool composed>
constexpr auto sdpa_call = []<class T>(Arguments<T>& c) {
    const Var<T> q = c.in("q"), k = c.in("k"), v = c.in("v"), sinks = with_sinks ? c.in("sinks") : Var<T>();
    const AttentionOptions o = attention_options(with_sinks ? "sdpa_sinks" : "sdpa", c, q, k);
    const Var<T> mask = c.maybe_constant("mask");
    if constexpr (composed) return sdpa_sinks_composed(q, k, v, sinks, o, mask);
    else return with_sinks ? sdpa_sinks(q, k, v, sinks, o, mask) : sdpa(q, k, v, o, mask);
};

/// An additive mask that hides some keys, all of them from query 1, and shifts one.
Array<double> some_hidden() {
    const double no = -HUGE_VAL;
    return {{0, no, 0.5}, {no, no, no}, {no, 0, 0}, {0, 0, 0}};
}

} // namespace

std::vector<Identity> attention_identities(const Sample& sample, bool shiftable) {
    const Array<double>&q = *sample.input("q"), &k = *sample.input("k"), &v = *sample.input("v");
    const std::size_t d = last_extent(q), dv = last_extent(v), queries = q.shape()[q.dimension() - 2],
                      keys = k.shape()[k.dimension() - 2];
    const std::size_t group = q.size() / (queries * d) / (k.size() / (keys * d)); // query heads of one key head
    const Attribute* flag = sample.attributes.find("causal");
    const bool causal = flag != nullptr && std::get_if<bool>(flag) != nullptr && std::get<bool>(*flag);
    const std::size_t window = static_cast<std::size_t>(sample.number("window", 0));
    const auto unseen = [=](std::size_t width) {
        return [=](std::size_t row, std::size_t column) {
            const std::size_t head = row / dv / queries, t = row / dv % queries, key_head = column / width / keys,
                              s = column / width % keys;
            return key_head != head / group || (causal && s > t) || (window != 0 && s + window <= t);
        };
    };
    const char* says = "0 across the mask and between groups of heads";
    Identity of_k{says, "k"}, of_v{says, "v"};
    of_k.zero = unseen(d);
    of_v.zero = unseen(dv);
    std::vector<Identity> known{block_diagonal_rows("q", dv, d), homogeneous("v", 1)};
    known.push_back(std::move(of_k));
    known.push_back(std::move(of_v));
    if (shiftable && sample.number("softcap", 0) == 0)
        known.push_back(known_product("J 1 = 0 along the keys", "k", constant_along(-2, k)));
    return known;
}

CatalogEntry sdpa_entry() {
    return entry(
        "sdpa", "softmax(cap(scale q k^T) + mask) v for each head, tile by tile", "§7", sdpa_call<false, false>)
        .with_samples(
            {"learned_bias: q(2,2,3,2) k(2,1,5,2) v(2,1,5,3) mask(2,3,5)",
                "bias_for_all_queries: q(3,2,3) k(3,4,3) v(3,4,1) mask(3,1,4)",
                "grouped_causal: q(4,3,3) k(2,3,3) v(2,3,3) heads_q=4 heads_kv=2 causal=true",
                "capped_window: q(2,5,4) k(1,5,4) v(1,5,3) causal=true window=2 softcap=1.5",
                "cross: q(2,3,4) k(2,7,4) v(2,7,5) scale=0.25", "hidden_row: q(2,4,2) k(1,3,2) v(1,3,2) softcap=5",
                "two_tiles: q(1,35,1) k(1,35,1) v(1,35,1) causal=true window=11"},
            {},
            [](std::vector<Sample>& samples) {
                samples[5].constants = {{"mask", some_hidden()}};
                std::rotate(samples.begin(), samples.begin() + 2, samples.begin() + 5); // drawn first, shown later
            })
        .with_twin(sdpa_call<false, true>)
        .with_identities([](const Sample& s) { return attention_identities(s, true); });
}

CatalogEntry sdpa_sinks_entry() {
    return entry(
        "sdpa_sinks", "sdpa with one more logit a head in the softmax, dropped after it", "§15", sdpa_call<true, false>)
        .with_samples({"grouped_causal: q(4,3,3) k(2,3,3) v(2,3,3) sinks(4) causal=true",
                          "capped_window: q(2,2,5,2) k(2,1,5,2) v(2,1,5,1) sinks(2) causal=true window=3 softcap=2",
                          "hidden_row: q(2,4,2) k(2,3,2) v(2,3,4) sinks(2)"},
            {},
            [](std::vector<Sample>& samples) {
                samples[2].constants = {{"mask", some_hidden()}};
            })
        .with_twin(sdpa_call<true, true>)
        .with_identities([](const Sample& s) { return attention_identities(s, false); });
}

} // namespace chalkgrad
