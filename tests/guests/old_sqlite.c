/* The version of a program's own SQLite. */
int sqlite3_libversion_number(void);
int sqlite3_libversion_number(void) { return 3036000; }
