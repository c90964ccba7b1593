// Parity: replays reference vectors ("golden-1" manifests) through the ops and compares outputs and gradients.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalkgrad {

struct ParityCase {
    enum class Verdict { pass, fail, unsupported };

    std::string id, op;
    Verdict verdict = Verdict::pass;
    /// Largest |got − want| / largest |want| of a tensor; absent where nothing was compared.
    std::optional<double> worst_forward = {}, worst_grad = {};
    std::string why = {}; ///< empty for a pass
};
const char* name(ParityCase::Verdict verdict);

struct ParityReport {
    std::vector<ParityCase> cases; ///< in the manifest's order
    std::size_t count(ParityCase::Verdict verdict) const;
};

/// Runs every case of a manifest, or those of one op. Files are named relative to the manifest and lie in its folder.
/// What an op refuses, and an array of another shape than announced, is a failed case; an op that is not in the
/// catalogue is an unsupported one. Throws Error for a manifest or a file that cannot be read or is malformed, and if
/// there is no such case.
ParityReport replay(const std::filesystem::path& manifest, std::string_view op = {});

struct CatalogEntry;
namespace nn {

/// The names of a manifest that are modules: block, stack3, ffn_mlp and the gated *_mlp, called like ops. The inputs of a
/// case stand for the module's parameters.
const std::vector<CatalogEntry>& parity_modules();

} // namespace nn

} // namespace chalkgrad
