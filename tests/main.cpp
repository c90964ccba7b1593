// The main() of every test program; the tests are in the files beside it, one suite per file.
#define BOOST_TEST_MODULE chalkgrad
#include <boost/test/unit_test.hpp>
