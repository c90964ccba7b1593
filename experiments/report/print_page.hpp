// An HTML page printed to PDF by Chromium.
#pragma once

#include <string>
#include <string_view>

namespace chalkgrad {

/// The PDF that Chromium makes of a page that needs no other file; `fragment` is the part of its address after the
/// name, "#frames". Throws Error when no Chromium is installed, and with what it said when it gave no PDF.
std::string print_page(std::string_view html, std::string_view fragment);

} // namespace chalkgrad
