// The main() of every test program; the tests are in the files beside it, one suite per file.
#include <boost/test/unit_test.hpp>

int main(int argc, char* argv[]) {
    return boost::unit_test::unit_test_main([] { return true; }, argc, argv);
}
