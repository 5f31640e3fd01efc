-- The accounts of a fleet on MariaDB beside `attune`, which owns the database `attune` (docs/fleet.md, Accounts).
-- As the administrator:
--
--   mariadb < mariadb_accounts.sql
--   mariadb -e "ALTER USER 'attune_worker'@'%' IDENTIFIED BY '...' ACCOUNT UNLOCK"
--
-- and the same for attune_reader. Until then nobody connects as either.
CREATE USER 'attune_worker'@'%' ACCOUNT LOCK;
CREATE USER 'attune_reader'@'%' ACCOUNT LOCK;

-- Workers add and change. They delete nothing, and neither make nor change tables.
GRANT SELECT, INSERT, UPDATE ON attune.* TO 'attune_worker'@'%';
GRANT SELECT ON attune.* TO 'attune_reader'@'%';
