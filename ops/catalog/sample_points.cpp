// Samples said in one line of text, and the samples that families of ops share.
#include <chalkgrad/ops/catalog/sample_points.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace chalkgrad {
namespace {

/// Numbers with commas between them.
std::vector<double> sample_numbers(std::string_view list) {
    std::vector<double> result;
    const char* const end = list.data() + list.size();
    for (const char* at = list.data(); at < end; ++at) {
        const auto [behind, error] = std::from_chars(at, end, result.emplace_back());
        if (error != std::errc()) throw Error("a sample's line has no number where one belongs: " + std::string(list));
        at = behind;
    }
    return result;
}

Attribute sample_attribute(std::string_view text) {
    if (text.starts_with('[')) return sample_numbers(text.substr(1, text.size() - 2));
    if (text.starts_with('\'')) return std::string(text.substr(1, text.size() - 2));
    if (text.find_first_of("-0123456789") == 0) return sample_numbers(text)[0];
    if (text == "null") return {};
    if (text == "true" || text == "false") return text == "true";
    return std::string(text);
}

Sample sample_of(std::string_view line, Generator& rng, const DrawInput& draw) {
    const std::size_t colon = line.find(':');
    Sample sample{std::string(line.substr(0, colon)), {}};
    std::vector<NamedArray>* arrays = &sample.inputs;
    std::size_t end = colon + 1;
    while (end < line.size()) {
        const std::size_t begin = end + 1, quote = line.find('\'', begin);
        end = line.find(' ', begin);
        if (quote < end) end = line.find(' ', line.find('\'', quote + 1));
        const std::string_view word = line.substr(begin, end - begin);
        const std::size_t mark = word.find_first_of("(=");
        const std::string name(word.substr(0, mark));
        if (word == "|") {
            arrays = arrays == &sample.inputs ? &sample.constants : &sample.inputs;
        } else if (word[mark] == '=') {
            sample.attributes.set(name, sample_attribute(word.substr(mark + 1)));
        } else {
            Shape shape;
            for (const double extent : sample_numbers(word.substr(mark + 1, word.size() - mark - 2)))
                shape.push_back(static_cast<std::size_t>(extent));
            arrays->push_back({name, draw ? draw(rng, name, shape) : rng.standard_normal(shape)});
        }
    }
    return sample;
}

} // namespace

std::vector<Sample> drawn(Generator& rng, const std::vector<const char*>& lines, const DrawInput& draw) {
    std::vector<Sample> samples;
    for (const char* line : lines) samples.push_back(sample_of(line, rng, draw));
    return samples;
}

std::vector<Sample> broadcast_samples(Generator& rng, const DrawInput& draw) {
    return drawn(rng,
        {"same_shape: a(3,5) b(3,5)", "row: a(2,3,5) b(5)", "column: a(3,1) b(3,5)", "both: a(4,1,3) b(2,1)",
            "row_of_11: a(11) b(2,11)", "number: a(2,3) b()"},
        draw);
}

Array<double> Points::operator()(Generator& rng, std::string_view input, const Shape& shape) const {
    const bool uniform = low < high && input != "a";
    return away_from(0, input == "a" ? 0 : gap, uniform ? rng.uniform(low, high, shape) : rng.standard_normal(shape));
}

CatalogEntry unary_entry(const char* name, PlainRule rule, const char* formula, const char* section, Points points,
    Known identities, Lines<double> twin, bool with_tails) {
    return entry(name, formula, section, "x", rule)
        .with_samples([=](Generator& rng) {
            std::vector<Sample> samples =
                drawn(rng, {"one: x(1)", "row_of_3: x(3)", "rows: x(2,2,5)", "row_of_11: x(11)"}, points);
            if (with_tails)
                samples.push_back({"tails", {{"x", Array<double>{{-25, -5.5, 5.5, 9.5}, {0.7, -0.7, -9.5, 21}}}}});
            return samples;
        })
        .with_twin(std::move(twin))
        .with_identities(std::move(identities));
}

CatalogEntry binary_entry(const char* name, PlainRule rule, const char* formula, const char* section, Points points,
    Known identities, Lines<double> twin) {
    return entry(name, formula, section, "a b", rule)
        .with_samples([=](Generator& rng) { return broadcast_samples(rng, points); })
        .with_twin(std::move(twin))
        .with_identities(std::move(identities));
}

double distance_from(double point, In<double> x) {
    double least = HUGE_VAL;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double distance = std::abs(x[i] - point);
        if (distance > 0 && distance < least) least = distance;
    }
    return std::isinf(least) ? 1 : least;
}

Array<double> away_from(double point, double gap, Array<double> x) {
    for (double& value : x)
        if (std::abs(value - point) < gap) value += value < point ? -gap : gap;
    return x;
}

Array<double> scaled(double factor, Array<double> x) {
    for (double& value : x) value *= factor;
    return x;
}

} // namespace chalkgrad
