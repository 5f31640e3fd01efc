// SOCI without Boost. Debian builds SOCI with Boost's types as an option, and its headers then ask
// for Boost's, which the package does not bring and which nothing here uses. The option only adds
// templates, so leaving it out changes no layout.
#pragma once

#include <soci/soci-config.h>
#undef SOCI_HAVE_BOOST
#undef SOCI_HAVE_BOOST_DATE_TIME
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>
