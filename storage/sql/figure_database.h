// The figures of trials over a database.
#pragma once

#include <memory>

#include "attune/record/figure_store.h"
#include "storage/sql/sql_store.h"

namespace attune {

// Like the stores of sql_store.h, it keeps the database open.
std::unique_ptr<FigureStore> FiguresIn(std::shared_ptr<SqlDatabase> database);

}  // namespace attune
