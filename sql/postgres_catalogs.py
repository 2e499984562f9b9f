"""Queries on PostgreSQL's catalogs: the objects of a schema, and a fingerprint that shows changes."""

# Covers all user objects in all schemas: a catalog row gets a new xmin whenever it is rewritten, also by CREATE OR
# REPLACE, GRANT and RENAME. Temporary tables are left out, as other sessions cannot read them.
_ROWS = "SELECT concat(count(*), ' ', sum(hashint8(({row})::bigint << 32 | {table}.xmin::text::bigint))) FROM"
FINGERPRINT = f"""
SELECT concat_ws(' ',
    ({_ROWS.format(table="c", row="oid")} pg_catalog.pg_class c WHERE oid >= 16384 AND relpersistence <> 't'),
    ({_ROWS.format(table="a", row="attrelid::bigint * 1600 + attnum")} pg_catalog.pg_attribute a
        JOIN pg_catalog.pg_class c ON c.oid = attrelid WHERE oid >= 16384 AND relpersistence <> 't' AND attnum > 0),
    ({_ROWS.format(table="p", row="oid")} pg_catalog.pg_proc p WHERE oid >= 16384),
    ({_ROWS.format(table="r", row="oid")} pg_catalog.pg_rewrite r WHERE oid >= 16384),
    ({_ROWS.format(table="i", row="inhrelid")} pg_catalog.pg_inherits i))
"""
SCHEMAS = """
SELECT nspname FROM pg_catalog.pg_namespace n WHERE has_schema_privilege(n.oid, 'USAGE') ORDER BY nspname
"""
ELSEWHERE = """
SELECT n.nspname AS schema, c.relname AS name
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND NOT c.relispartition AND has_schema_privilege(n.oid, 'USAGE')
    AND has_table_privilege(c.oid, 'SELECT') AND n.oid <> $1::text::regnamespace
ORDER BY n.nspname
"""
TABLES = """
SELECT c.relname AS name, c.relkind IN ('v', 'm') AS view,
    has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT') AS readable,
    c.relispartition AS part, EXISTS (SELECT FROM pg_catalog.pg_depend d
        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') AS foreign_made,
    array(SELECT a.attname::text FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
        AND NOT a.attisdropped ORDER BY a.attnum) AS columns
FROM pg_catalog.pg_class c WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'v', 'm', 'p', 'f')
"""
BENEATH = """
SELECT DISTINCT v.relname AS view, n.nspname AS schema, t.relname AS name, a.attname AS column,
    position(':varattno 0 ' IN r.ev_action::text) > 0 AS whole
FROM pg_catalog.pg_rewrite r
JOIN pg_catalog.pg_class v ON v.oid = r.ev_class AND v.relnamespace = $1::text::regnamespace AND v.relkind IN ('v', 'm')
JOIN pg_catalog.pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
    AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> v.oid
JOIN pg_catalog.pg_class t ON t.oid = d.refobjid JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid AND d.refobjsubid > 0
"""
PARTS = """
SELECT p.relname AS parent, n.nspname AS schema, c.relname AS name
FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE p.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p', 'f')
"""
GENERATED = """
SELECT DISTINCT c.relname AS name, g.attname AS column, b.attname AS source
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute g ON g.attrelid = c.oid
LEFT JOIN pg_catalog.pg_attrdef f ON f.adrelid = c.oid AND f.adnum = g.attnum
JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid AND d.refobjsubid > 0
    AND ((d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid)
        OR (d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = g.attnum))
JOIN pg_catalog.pg_attribute b ON b.attrelid = c.oid AND b.attnum = d.refobjsubid AND b.attnum <> g.attnum
WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p', 'f')
"""
KEYWORDS = "SELECT word FROM pg_catalog.pg_get_keywords() WHERE catcode IN ('R', 'T')"
# Functions that are not built in are usable only if an extension's and pure, or overloads that only read.
FUNCTIONS = """
WITH f AS (
    SELECT p.proname, n.nspname = 'pg_catalog' AS own, p.provolatile, l.lanname IN ('c', 'internal', 'sql') AND EXISTS (
        SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid
        AND d.deptype = 'e') AND (p.provolatile = 'i' OR p.proname = ANY ($2)) AS computes
    FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    JOIN pg_catalog.pg_language l ON l.oid = p.prolang
    WHERE n.nspname = 'pg_catalog' OR p.pronamespace = $1::text::regnamespace)
SELECT proname AS name, bool_or(own AND provolatile = 'v') AS volatile,
    bool_or(NOT own AND NOT computes AND provolatile = 'v') OR NOT (bool_or(own) OR bool_and(computes)) AS foreign_made
FROM f GROUP BY proname
"""
