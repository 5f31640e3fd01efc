-- The accounts of a fleet on PostgreSQL beside `attune`, which owns the database `attune` and has made its tables
-- (docs/fleet.md, Accounts). As the administrator:
--
--   psql -d attune -f postgresql_accounts.sql
--   psql -d attune -c '\password attune_worker' -c '\password attune_reader'
--
-- Without a password nobody connects as either.
CREATE ROLE attune_worker LOGIN;
CREATE ROLE attune_reader LOGIN;

-- Workers add and change. They delete nothing, and neither make nor change tables.
GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO attune_worker;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO attune_reader;

-- The same of tables that a later attune makes.
ALTER DEFAULT PRIVILEGES FOR ROLE attune IN SCHEMA public GRANT SELECT, INSERT, UPDATE ON TABLES TO attune_worker;
ALTER DEFAULT PRIVILEGES FOR ROLE attune IN SCHEMA public GRANT SELECT ON TABLES TO attune_reader;
