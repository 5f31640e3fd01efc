#define ELEMENT(matrix, row, column, ld) matrix[(row) + (long)(column) * (ld)]
