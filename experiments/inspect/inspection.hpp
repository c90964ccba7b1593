// A config.json read and counted, as JSON, as a table, and explained in words.
#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <chalkgrad/nn/models/description.hpp>
#include <chalkgrad/nn/models/ledger.hpp>

namespace chalkgrad {

struct Inspection {
    nn::ModelDescription model;
    nn::ModelLedger ledger;
};

/// Throws Error that begins with `command`, names the file, and says what is wrong with it: sizes whose counts do not fit too.
Inspection inspect_config(const char* command, const std::filesystem::path& config);

/// The document of `inspect --json`.
nlohmann::json to_json(const Inspection& inspection);

/// Facts, then the ledger with its formulas, then warnings.
std::string to_text(const Inspection& inspection);

/// The four steps of course §20 for this model: residual graph, norms, FFN, parameters.
std::string explain(const Inspection& inspection);

} // namespace chalkgrad
