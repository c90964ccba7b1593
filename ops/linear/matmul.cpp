// matmul:  y = a b.  Vary a and b: dy = da b + a db, so  ā = ȳ bᵀ,  b̄ = aᵀ ȳ,  each summed over the batch axes along which
// its factor was shared.
#include <chalkgrad/ops/linear/matmul.hpp>

#include <chalkgrad/autograd/base/odometer.hpp>
#include <chalkgrad/ops/catalog/op.hpp>
#include <chalkgrad/ops/linear/gemm.hpp>

namespace chalkgrad {
namespace {

/// The matrices in a product of arrays: m, k, n, and where the pair of each batch index begins.
struct Products {
    std::size_t m = 1, k = 1, n = 1;
    Odometer<3> places;                                    // of a, b and y
    bool a_shared = false, b_shared = false, none = false; // used by more than one product; no product at all

    Products(const Shape& a, const Shape& b) {
        const std::size_t a_axes = a.rank() < 2 ? 0 : a.rank() - 2, b_axes = b.rank() < 2 ? 0 : b.rank() - 2;
        k = a.last();
        if (a.rank() > 1) m = a[a.rank() - 2];
        if (b.rank() > 1) n = b.last();
        // One matrix b for all: the rows of all a are the rows of one tall matrix.
        if (b.size() == k * n && k * n != 0) {
            for (std::size_t i = 0; i < a_axes; ++i) m *= a[i];
            return;
        }
        std::size_t a_run = m * k, b_run = k * n, y_run = m * n;
        for (std::size_t back = 1; back <= std::max(a_axes, b_axes); ++back) {
            const std::size_t of_a = back > a_axes ? 1 : a[a_axes - back], of_b = back > b_axes ? 1 : b[b_axes - back],
                              extent = of_a == 1 ? of_b : of_a;
            const auto step = [](std::size_t of, std::size_t run) {
                return static_cast<std::ptrdiff_t>(of == 1 ? 0 : run);
            };
            places.add(extent, {step(of_a, a_run), step(of_b, b_run), step(0, y_run)});
            a_shared |= of_a != extent;
            b_shared |= of_b != extent;
            none |= extent == 0;
            a_run *= of_a;
            b_run *= of_b;
            y_run *= extent;
        }
    }
};

struct Matmul {
    static constexpr const char* name = "matmul";
    static constexpr const char* inputs[] = {"a", "b"};
    static constexpr bool skips_unwanted = true;
    static constexpr Role role = Role::linear;

    Shape shape(Shapes in) const {
        const Shape &a = in[0], &b = in[1];
        if (a.rank() == 0 || b.rank() == 0)
            throw Error(fmt::format("matmul: {} is a single number beside shape {}; use * to scale an array",
                a.rank() == 0 ? "a" : "b", to_string(a.rank() == 0 ? b : a)));
        const std::size_t rows_of_b = b.rank() == 1 ? b[0] : b[b.rank() - 2];
        if (a.last() != rows_of_b)
            throw Error(
                fmt::format("matmul: shapes {} and {} do not fit: the last axis of a has {}, the {} axis of b {}; "
                            "transpose one of them",
                    to_string(a), to_string(b), a.last(), b.rank() == 1 ? "only" : "last but one", rows_of_b));
        const auto in_front = [](const Shape& x) {
            return Shape(x.begin(), x.end() - std::min<std::size_t>(x.rank(), 2));
        };
        Shape y = broadcast(name, in_front(a), in_front(b));
        if (a.rank() > 1) y.push_back(a[a.rank() - 2]);
        if (b.rank() > 1) y.push_back(b.last());
        return y;
    }

    template <class T> void forward(Ins<T> in, Out<T> y, T*) const {
        const Products p(*in[0].shape, *in[1].shape);
        p.places.each([&](const Odometer<3>::Places& at) {
            const auto [a, b, c] = at;
            gemm<T>(Factor::plain, Factor::plain, p.m, p.n, p.k, in[0].data + a, p.k, in[1].data + b, p.n, 0,
                y.data + c, p.n);
        });
    }
    template <class T> void vjp(Ins<T> in, In<T>, In<T> gy, const T*, Outs<T> gx) const {
        const Products p(*in[0].shape, *in[1].shape);
        const auto start = [&](Out<T> g, bool shared) {
            if (g && (shared || p.none)) std::fill_n(g.data, g.size(), T(0));
        };
        start(gx[0], p.a_shared);
        start(gx[1], p.b_shared);
        p.places.each([&](const Odometer<3>::Places& at) {
            const auto [a, b, c] = at;
            if (gx[0])
                gemm<T>(Factor::plain, Factor::transposed, p.m, p.k, p.n, gy.data + c, p.n, in[1].data + b, p.n,
                    p.a_shared, gx[0].data + a, p.k);
            if (gx[1])
                gemm<T>(Factor::transposed, Factor::plain, p.k, p.n, p.m, in[0].data + a, p.k, gy.data + c, p.n,
                    p.b_shared, gx[1].data + b, p.n);
        });
    }
};

} // namespace

template <class T> Var<T> matmul(const Var<T>& a, const Var<T>& b) { return apply(Matmul{}, a, b); }

CHALKGRAD_INSTANCES(matmul)

CatalogEntry matmul_entry() {
    return entry("matmul", "a b", "NumPy's @", "a b", plain<Matmul>)
        .with_samples(
            // Square shapes too: there a forgotten transpose has a legal shape.
            {"square: a(5,5) b(5,5)", "small: a(3,2) b(2,4)", "wide: a(2,11) b(11,3)", "batched: a(2,3,4) b(2,4,2)",
                "shared_weight: a(2,3,4) b(4,4)", "shared_rows: a(3,4) b(2,4,3)", "both_broadcast: a(2,1,3,2) b(3,2,2)",
                "row: a(4) b(4,3)", "column: a(3,4) b(4)", "batched_column: a(2,3,4) b(4)",
                "row_batched: a(4) b(2,4,3)", "dot: a(7) b(7)", "one: a(1,1) b(1,1)"})
        .with_identities(homogeneous_in({{"a", 1}, {"b", 1}}));
}

} // namespace chalkgrad
