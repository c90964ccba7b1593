// Samples said in one line of text, and the samples that families of ops share.
#include <chalkgrad/ops/catalog/sample_points.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace chalkgrad {
namespace {

/// Reads a sample's line from left to right.
class Reader {
public:
    Reader(std::string_view line) : line_(line) {}
    bool at_end() {
        while (!rest().empty() && rest().front() == ' ') ++at_;
        return rest().empty();
    }
    bool skip(std::string_view wanted) {
        if (!rest().starts_with(wanted)) return false;
        at_ += wanted.size();
        return true;
    }
    std::string until(const char* stops) {
        const std::size_t end = std::min(line_.find_first_of(stops, at_), line_.size());
        const std::string word(line_.substr(at_, end - at_));
        at_ = end;
        return word;
    }
    double number() {
        double value = 0;
        const auto [end, error] = std::from_chars(rest().data(), line_.data() + line_.size(), value);
        if (error != std::errc()) throw Error("a sample's line has no number where one belongs: " + std::string(line_));
        at_ = static_cast<std::size_t>(end - line_.data());
        return value;
    }
    /// Numbers with commas between them, up to the bracket that closes.
    std::vector<double> list(std::string_view close) {
        std::vector<double> numbers;
        while (!skip(close)) {
            numbers.push_back(number());
            skip(",");
        }
        return numbers;
    }
    Attribute attribute() {
        if (skip("[")) return list("]");
        if (skip("'")) {
            std::string words = until("'");
            skip("'");
            return words;
        }
        if (!rest().empty() && (std::isdigit(rest().front()) || rest().front() == '-')) return number();
        std::string word = until(" ");
        if (word == "null") return {};
        if (word == "true" || word == "false") return word == "true";
        return word;
    }

private:
    std::string_view rest() const { return line_.substr(at_); }
    std::string_view line_;
    std::size_t at_ = 0;
};

} // namespace

std::vector<Sample> drawn(Generator& rng, const std::vector<const char*>& lines, const DrawInput& draw) {
    std::vector<Sample> samples;
    for (const char* line : lines) {
        Reader in(line);
        Sample& sample = samples.emplace_back();
        sample.name = in.until(":");
        in.skip(":");
        std::vector<NamedArray>* arrays = &sample.inputs;
        while (!in.at_end()) {
            if (in.skip("|")) {
                arrays = arrays == &sample.inputs ? &sample.constants : &sample.inputs;
                continue;
            }
            const std::string name = in.until("(=");
            if (in.skip("=")) {
                sample.attributes.set(name, in.attribute());
                continue;
            }
            in.skip("(");
            Shape shape;
            for (const double extent : in.list(")")) shape.push_back(static_cast<std::size_t>(extent));
            arrays->push_back({name, draw ? draw(rng, name, shape) : rng.standard_normal(shape)});
        }
    }
    return samples;
}

std::vector<Sample> unary_samples(const Draw& draw, const char* input, const Attributes& attributes) {
    std::vector<Sample> samples;
    const std::pair<const char*, Shape> shapes[] = {
        {"one", {1}}, {"row_of_3", {3}}, {"rows", {2, 2, 5}}, {"row_of_11", {11}}};
    for (const auto& [name, shape] : shapes) samples.push_back({name, {{input, draw(shape)}}, {}, attributes});
    return samples;
}

std::vector<Sample> unary_samples_with_tails(const Draw& draw) {
    std::vector<Sample> samples = unary_samples(draw);
    samples.push_back({"tails", {{"x", Array<double>{{-25, -5.5, 5.5, 9.5}, {0.7, -0.7, -9.5, 21}}}}});
    return samples;
}

std::vector<Sample> broadcast_samples(Generator& rng, const Draw& draw_b) {
    return drawn(rng,
        {"same_shape: a(3,5) b(3,5)", "row: a(2,3,5) b(5)", "column: a(3,1) b(3,5)", "both: a(4,1,3) b(2,1)",
            "row_of_11: a(11) b(2,11)", "number: a(2,3) b()"},
        [&](Generator&, std::string_view input, const Shape& shape) {
            return input == "a" ? rng.standard_normal(shape) : draw_b(shape);
        });
}

Array<double> Points::draw(Generator& rng, const Shape& shape) const {
    return away_from(0, gap, low < high ? rng.uniform(low, high, shape) : rng.standard_normal(shape));
}

CatalogEntry unary_entry(const char* name, PlainRule rule, const char* formula, const char* section, Points points,
    Known identities, Twin twin, bool with_tails) {
    return entry(name, formula, section, "x", rule)
        .with_samples([=](Generator& rng) {
            const auto draw = [&](const Shape& shape) { return points.draw(rng, shape); };
            return with_tails ? unary_samples_with_tails(draw) : unary_samples(draw);
        })
        .with_twin(std::move(twin))
        .with_identities(std::move(identities));
}

CatalogEntry binary_entry(const char* name, PlainRule rule, const char* formula, const char* section, Points points,
    Known identities, Twin twin) {
    return entry(name, formula, section, "a b", rule)
        .with_samples([=](Generator& rng) {
            return broadcast_samples(rng, [&](const Shape& shape) { return points.draw(rng, shape); });
        })
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
