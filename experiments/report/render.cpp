// Pictures of graphs: libgvc in memory, under one lock, with everything it says turned into an Error.
#include <chalkgrad/autograd/base/error.hpp>
#include <chalkgrad/experiments/report/picture.hpp>
#include <chalkgrad/experiments/report/render.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

#include <fmt/format.h>
#include <graphviz/gvc.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
// Graphviz and the font libraries keep what they have loaded, about 6 kB a drawing.
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libgvc\nleak:libcgraph\nleak:libfontconfig\nleak:libpango\nleak:libcairo\n";
}
#endif

namespace chalkgrad {
namespace {

// Graphviz is not thread-safe, not even with one context per thread.
std::mutex graphviz;
std::string said;

/// Everything Graphviz says goes to `said` instead of standard error, as long as this lives.
struct Listening {
    agusererrf before;
    Listening() : before(agseterrf([](char* text) { return said += text, 0; })) {
        agseterr(AGWARN);
        said.clear();
    }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
    ~Listening() { agseterrf(before); }
};

[[noreturn]] void refuse(std::string_view format, std::string_view what) {
    std::string message = one_line(said);
    while (!message.empty() && message.back() == ' ') message.pop_back();
    throw Error(fmt::format("render_dot: {} ({}): {}", what, format, message));
}

using Graph = std::unique_ptr<Agraph_t, int (*)(Agraph_t*)>;

struct FreeLayout {
    GVC_t* context;
    void operator()(Agraph_t* graph) const { gvFreeLayout(context, graph); }
};

/// What of the text Graphviz has not read yet.
struct Unread {
    std::string_view text;
    static int read(void* channel, char* buffer, int size) {
        std::string_view& text = static_cast<Unread*>(channel)->text;
        const std::size_t n = text.copy(buffer, static_cast<std::size_t>(size));
        text.remove_prefix(n);
        return static_cast<int>(n);
    }
};

// Graphviz numbers unnamed parts through the life of the process and writes the numbers into pictures: count for each
// drawing anew.
IDTYPE unnamed;

long map_id(void* state, int kind, char* name, IDTYPE* id, int create) {
    if (name != nullptr) return AgIdDisc.map(state, kind, name, id, create);
    *id = unnamed;
    unnamed += 2; // odd, as addresses of names are even
    return 1;
}

/// The one graph of `text`, or null with the reason in `said`.
Graph parse(std::string_view text) {
    static Agiddisc_t ids = AgIdDisc;
    static Agiodisc_t input = AgIoDisc;
    static Agdisc_t services{&AgMemDisc, &ids, &input};
    ids.map = map_id;
    input.afread = Unread::read;
    unnamed = 1;
    agreadline(1);

    Unread unread{text};
    Graph graph(agread(&unread, &services), agclose);
    // The scanner keeps what follows the graph for the next call: read it off, and take no second graph.
    while (Agraph_t* const next = agread(&unread, &services)) {
        agclose(next);
        said = "it holds more than one graph";
    }
    if (graph == nullptr && said.empty()) said = "it holds no graph";
    if (!said.empty()) graph.reset();
    return graph;
}

/// A default that holds unless the graph declares the attribute itself.
void set_default(Agraph_t* graph, int kind, const char* name, std::string_view value) {
    if (agattr(graph, kind, const_cast<char*>(name), nullptr) == nullptr)
        agattr(graph, kind, const_cast<char*>(name), std::string(value).data());
}

/// cairo draws at most 32767 pixels a side and says so on standard error: refuse first.
void check_pixels(GVC_t* context, Agraph_t* graph) {
    gvRender(context, graph, "dot", nullptr); // writes the layout into attributes: bb = x0,y0,x1,y1 in points
    const char* const box = agget(graph, const_cast<char*>("bb"));
    const char* const dpi = agget(graph, const_cast<char*>("dpi"));
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    if (box == nullptr || std::sscanf(box, "%lf,%lf,%lf,%lf", &x0, &y0, &x1, &y1) != 4) return;
    const double pixels = std::max(x1 - x0, y1 - y0) / 72 * (dpi == nullptr ? 96 : std::atof(dpi));
    if (pixels > 32000)
        throw Error(fmt::format(
            "render_dot: the graph would be {:.0f} pixels across, a png holds 32000; use svg or pdf", pixels));
}

/// The work of render_dot; `graphviz` is held.
std::string render(std::string_view dot, std::string_view format) {
    require_format("render_dot", format, {"svg", "pdf", "png", "plain", "json", "dot"});
    if (dot.find('\0') != std::string_view::npos)
        throw Error("render_dot: the DOT text holds a NUL byte; escape or drop it in the label it comes from");
    const std::string name(format);

    const Listening listening;
    static GVC_t* const context = gvContext(); // lives as long as the program: it owns the loaded plugins

    const Graph graph = parse(dot);
    if (graph == nullptr) refuse(format, "the DOT text was not understood");
    for (const int kind : {AGRAPH, AGNODE, AGEDGE}) set_default(graph.get(), kind, "fontname", picture_fonts);
    if (format == "png") set_default(graph.get(), AGRAPH, "dpi", "144");
    // Above about a thousand nodes network simplex may take minutes; two rounds give nearly the same picture.
    if (agnnodes(graph.get()) > 1000) {
        set_default(graph.get(), AGRAPH, "nslimit", "2");
        set_default(graph.get(), AGRAPH, "nslimit1", "2");
    }

    if (gvLayout(context, graph.get(), "dot") != 0)
        refuse(format, "Graphviz cannot lay the graph out; is Debian's libgvc6 complete?");
    const std::unique_ptr<Agraph_t, FreeLayout> layout(graph.get(), FreeLayout{context});
    if (format == "png") check_pixels(context, graph.get());

    char* bytes = nullptr;
    unsigned size = 0;
    const int failed = gvRenderData(context, graph.get(), name.c_str(), &bytes, &size);
    const std::unique_ptr<char, void (*)(char*)> owner(bytes, [](char* data) { gvFreeRenderData(data); });
    std::string picture(bytes == nullptr ? "" : bytes, bytes == nullptr ? 0 : size);
    if (failed != 0 || picture.empty())
        refuse(format, "Graphviz has no plugin that writes this format; install Debian's libgvc6, or use dot or svg");
    if (!said.empty()) refuse(format, "Graphviz complained about the graph");
    if (format == "pdf") remove_pdf_dates(picture);
    return picture;
}

/// Until the end of the pipe, or until the time is up: then nothing.
std::optional<std::string> read_until(int pipe, std::chrono::steady_clock::time_point end) {
    std::string text;
    for (char bytes[1 << 16];;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
        pollfd waiting{pipe, POLLIN, 0};
        const int ready = left <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(std::min<long long>(left, 1 << 30)));
        if (ready == 0) return {};
        if (ready < 0 && errno == EINTR) continue;
        const ssize_t n = ready < 0 ? -1 : ::read(pipe, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return text;
        text.append(bytes, static_cast<std::size_t>(n));
    }
}

} // namespace

std::string render_dot(std::string_view dot, std::string_view format) {
    const std::scoped_lock lock(graphviz);
    return render(dot, format);
}

std::optional<std::string> render_dot_within(std::string_view dot, std::string_view format, double seconds) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::microseconds(static_cast<long long>(seconds * 1e6));
    int ends[2];
    if (::pipe(ends) != 0) throw Error("render_dot: no pipe to a second process; too many files are open");
    pid_t child;
    {
        const std::scoped_lock lock(
            graphviz); // the copy of the process must not find another thread at work in Graphviz
        child = ::fork();
        if (child == 0) {
            ::close(ends[0]);
            std::string answer;
            try {
                answer = '+' + render(dot, format);
            } catch (const std::exception& error) { answer = std::string("-") + error.what(); }
            for (std::string_view left = answer; !left.empty();) {
                const ssize_t n = ::write(ends[1], left.data(), left.size());
                if (n <= 0) break;
                left.remove_prefix(static_cast<std::size_t>(n));
            }
            ::_exit(0);
        }
    }
    ::close(ends[1]);
    std::optional<std::string> answer;
    if (child > 0) answer = read_until(ends[0], end);
    ::close(ends[0]);
    if (child < 0) throw Error("render_dot: no second process could be started; too many are running");
    if (!answer) ::kill(child, SIGKILL);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
    if (!answer) return {};
    if (answer->empty()) throw Error("render_dot: Graphviz ended without a picture; try dot or a smaller graph");
    if (answer->front() == '-') throw Error(answer->substr(1));
    return answer->substr(1);
}

} // namespace chalkgrad
