-- The role that questions are asked with, in containers: it reads the sample store's tables and nothing else.
\set password `cat /run/parley/postgres/reader`
SELECT 'CREATE ROLE reader LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'reader') \gexec
ALTER ROLE reader PASSWORD :'password';
GRANT SELECT ON users, payment_methods, orders, order_items, payments, products, variants TO reader;
