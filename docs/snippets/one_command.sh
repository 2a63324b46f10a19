# snippet: one command
g++ -std=c++20 -O3 -ffp-contract=off -DSTET_WITH_KOKKOS_REF \
    -I stet/dsl/include -I stet/backends/kokkos_ref/include -isystem /usr/include/trilinos \
    heat.cpp -o heat -ltrilinos_kokkoscore -ldl
./heat
# end
