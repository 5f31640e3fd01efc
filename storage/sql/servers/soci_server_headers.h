// SOCI's backends for servers, without Boost (soci_headers.h).
#pragma once

#include "storage/sql/soci_headers.h"

#include <soci/mysql/soci-mysql.h>
#include <soci/postgresql/soci-postgresql.h>
