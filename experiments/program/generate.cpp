// `chalkgrad generate`: a checkpoint writes, token by token.
#include <chalkgrad/experiments/program/checkpoint_call.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

#include <nlohmann/json.hpp>

#include <chalkgrad/autograd/base/half.hpp>
#include <chalkgrad/autograd/numpy/random.hpp>
#include <chalkgrad/experiments/checkpoint/decoder.hpp>

namespace chalkgrad {
namespace {

struct GenerateOptions {
    Command c;
    Path folder =
        c.option(folder, "DIR", "DIR", "A checkpoint: config.json, model.safetensors, tokens.json", Given::always);
    Word text = c.option(text, "--text", "TEXT", "How the text begins; without it the model begins by itself");
    Word ids = c.option(ids, "--ids", "N,N,...", "The same as ids, or FILE.npy: for a checkpoint without tokens.json");
    std::int64_t tokens = c.option(tokens, "--tokens", "N", "How many to add, 100", {}, std::int64_t(100));
    double temperature =
        c.option(temperature, "--temperature", "X", "Draw from softmax(scores/X); 0 always takes the best", {}, 0.0);
    std::optional<std::uint64_t> seed = c.seed(seed, "Seed of the draws, 0");
    std::string dtype = c.option(dtype, "--dtype", "TYPE", "double, float, half or bfloat16", {}, {"float"});
    bool json = c.json(json);
};

std::size_t next_of(const std::vector<double>& scores, double temperature, Generator& rng) {
    const std::size_t best = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    if (!(std::abs(scores[best]) < HUGE_VAL)) throw Error("generate: the scores are not finite; try --dtype double");
    if (temperature == 0) return best;
    std::vector<double> sums(scores.size());
    double sum = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) sums[i] = sum += std::exp((scores[i] - scores[best]) / temperature);
    const auto drawn = std::upper_bound(sums.begin(), sums.end(), sum * rng.random());
    return std::min(static_cast<std::size_t>(drawn - sums.begin()), scores.size() - 1);
}

/// What a terminal may be sent: no escapes.
void show(const std::string& text) {
    for (const char c : text)
        if (static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t') std::fputc(c, stdout);
    std::fflush(stdout);
}

/// Scores of the next token: of one token more with a cache, else of the whole text anew.
template <class T> class Scores {
public:
    explicit Scores(const nn::Checkpoint& model) : model_(model) {
        const std::string why = why_no_cache(model);
        if (why.empty()) decoder_.emplace(model);
        else fmt::print(stderr, "generate: {}, so no keys are kept and each token runs the whole text\n", why);
    }
    std::vector<double> after(std::int64_t id) {
        ids_.push_back(id);
        if (decoder_) {
            const Var<T> y = decoder_->step(id);
            return std::vector<double>(y.data(), y.data() + y.size());
        }
        Array<std::int64_t> all(std::vector<std::size_t>{ids_.size()});
        std::copy(ids_.begin(), ids_.end(), all.begin());
        const Array<T> y = model_.logits<T>(all);
        return std::vector<double>(y.end() - static_cast<std::ptrdiff_t>(y.shape()[1]), y.end());
    }

private:
    const nn::Checkpoint& model_;
    std::optional<Decoder<T>> decoder_;
    std::vector<std::int64_t> ids_;
};

template <class T> int generate(const GenerateOptions& options, const nn::Checkpoint& model) {
    const std::optional<TokenTable> table = read_tokens(model.folder, model.model.description.vocabulary);
    std::optional<Array<std::int64_t>> prompt = given_ids("generate", model, table, options.ids, options.text);
    if (!prompt && !table)
        throw Error(fmt::format(
            "generate: '{}' has no tokens.json; say with --ids how the text begins", model.folder.string()));
    std::vector<std::int64_t> ids{table ? table->bos : 0};
    if (prompt) ids.assign(prompt->begin(), prompt->end());
    const std::size_t given = ids.size(), wanted = given + static_cast<std::size_t>(options.tokens);
    if (model.context != 0 && wanted > model.context)
        throw Error(
            fmt::format("generate: {} tokens and {} more do not fit in the model's context of {}; lower --tokens",
                given, options.tokens, model.context));

    Progress progress;
    progress.say("reading weights");
    Scores<T> model_scores(model);
    Generator rng(Seed(options.seed.value_or(0)));
    std::vector<double> scores;
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t t = 0;; ++t) {
        if (!options.json) {
            if (table) show(table->decode(ids[t], t == 0 ? table->eos : ids[t - 1]));
            else show(fmt::format("{}{}", t == 0 ? "" : ",", ids[t]));
        }
        if (t + 1 == wanted) break;
        scores = model_scores.after(ids[t]);
        if (t + 1 < given) continue;
        const auto next = static_cast<std::int64_t>(next_of(scores, options.temperature, rng));
        if (table && (next == table->eos || next == table->bos)) break;
        ids.push_back(next);
        if (options.json) progress.say(fmt::format("{} of {} tokens", ids.size() - given, options.tokens));
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (!options.json) {
        fmt::print("\n");
        return 0;
    }
    nlohmann::json json = {{"model_type", model.model.description.model_type}, {"dtype", options.dtype},
        {"prompt_tokens", given}, {"ids", ids}, {"seconds", seconds.count()},
        {"tokens_per_second", static_cast<double>(ids.size()) / seconds.count()}};
    json["text"] = table ? nlohmann::json(table->decode(ids)) : nlohmann::json();
    fmt::print("{}", json_text(json));
    return 0;
}

int run_generate(const GenerateOptions& options) {
    if (options.tokens < 1 || options.tokens > 1'000'000'000)
        throw Error(fmt::format("generate: --tokens {} is out of range; the least is 1", options.tokens));
    if (!(options.temperature >= 0 && std::isfinite(options.temperature)))
        throw Error(fmt::format("generate: the temperature {} is not finite and >= 0", options.temperature));
    return with_dtype("generate", options.dtype,
        [&](auto zero) { return generate<decltype(zero)>(options, nn::load_checkpoint(options.folder)); });
}

} // namespace

void add_generate(Commands& commands) {
    commands.add("generate", "Let a checkpoint write on", run_generate,
        "  chalkgrad generate stories260K --text \"Once upon a time\" --tokens 100\n"
        "  chalkgrad generate stories260K --temperature 0.8 --seed 3\n"
        "  chalkgrad generate SmolLM2-135M --ids 504,2123,253 --tokens 20 --json");
}

} // namespace chalkgrad
