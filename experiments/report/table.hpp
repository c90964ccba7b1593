// Small tables of words and numbers, written as CSV.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace chalkgrad {

/// One entry of a table: a number, a whole number or a word.
class Cell {
public:
    template <class T>
    requires std::is_arithmetic_v<T> Cell(T number) { // NOLINT: a table is written as a list of plain values
        if constexpr (std::integral<T>) value_ = static_cast<std::int64_t>(number);
        else value_ = static_cast<double>(number);
    }
    Cell(std::string word) : value_(std::move(word)) {}
    Cell(const char* word) : value_(std::string(word)) {}

    const std::variant<double, std::int64_t, std::string>& value() const { return value_; }

private:
    std::variant<double, std::int64_t, std::string> value_;
};

/// `name` becomes a file name; every row has one cell for each column.
struct Table {
    std::string name;
    std::vector<std::string> columns;
    std::vector<std::vector<Cell>> rows = {};
};

/// A line of column names, then one line a row; quoted as RFC 4180 says, with plain line feeds. Numbers are written
/// with 17 digits, so that they read back as the same doubles; nan, inf and -inf as these words.
/// Throws Error when a row's length is not that of `columns`.
std::string to_csv(const Table& table);

} // namespace chalkgrad
