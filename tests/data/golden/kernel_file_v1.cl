/* Never compiled: what is golden is which text a compiler would get. */
__kernel void partial_products(__global const REAL* a) {}
__kernel void sum_of_parts(__global const REAL* parts) {}
