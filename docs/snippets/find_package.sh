# snippet: install
cmake -S stet -B stet-build -DSTET_BUILD_APPS=OFF -DSTET_BUILD_BENCH=OFF -DSTET_BUILD_TESTS=OFF
cmake --install stet-build --prefix stet-prefix
# end
# snippet: build with find_package
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$PWD/stet-prefix"
cmake --build build
build/heat
# end
