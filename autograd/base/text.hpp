// Text for people: its well-formed UTF-8, and numbers with commas.
#pragma once // internal

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace chalkgrad {

/// The length of the well-formed UTF-8 sequence at the head of `s` (Unicode 15, table 3-7), or 0.
inline std::size_t utf8_length(std::string_view s) {
    const auto byte = [&](std::size_t i) { return i < s.size() ? static_cast<std::uint8_t>(s[i]) : std::uint8_t{0}; };
    const auto tail = [&](std::size_t i, std::uint8_t low = 0x80, std::uint8_t high = 0xBF) {
        return byte(i) >= low && byte(i) <= high;
    };
    const std::uint8_t head = byte(0);
    if (head < 0x80) return 1;
    if (head >= 0xC2 && head <= 0xDF) return tail(1) ? 2 : 0;
    if (head >= 0xE0 && head <= 0xEF)
        return tail(1, head == 0xE0 ? 0xA0 : 0x80, head == 0xED ? 0x9F : 0xBF) && tail(2) ? 3 : 0;
    if (head >= 0xF0 && head <= 0xF4)
        return tail(1, head == 0xF0 ? 0x90 : 0x80, head == 0xF4 ? 0x8F : 0xBF) && tail(2) && tail(3) ? 4 : 0;
    return 0;
}

/// The digits before the point in threes: "8030261248" becomes "8,030,261,248", "-1234.5" "-1,234.5".
inline std::string with_commas(std::string number) {
    const std::size_t begin = number.starts_with('-') ? 1 : 0;
    for (std::size_t end = std::min(number.find('.'), number.size()); end > begin + 3; end -= 3)
        number.insert(end - 3, 1, ',');
    return number;
}
template <std::integral N> std::string with_commas(N number) { return with_commas(std::to_string(number)); }

} // namespace chalkgrad
