CREATE TABLE users (
    user_id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT, state TEXT, joined DATE, password TEXT
);
CREATE TABLE products (product_id INTEGER PRIMARY KEY, title TEXT NOT NULL, price NUMERIC, details TEXT);
CREATE TABLE orders (
    order_id TEXT PRIMARY KEY, user_id TEXT REFERENCES users (user_id), status TEXT, placed DATE, total NUMERIC
);
CREATE TABLE items (
    order_id TEXT REFERENCES orders (order_id), product_id INTEGER REFERENCES products (product_id), quantity INTEGER,
    PRIMARY KEY (order_id, product_id)
);
CREATE TABLE log ("update" TEXT, "delete" INTEGER, "set" INTEGER, "drop" TEXT, "select" TEXT, "from" TEXT, pragma TEXT);
CREATE TABLE accounts (
    account_id INTEGER PRIMARY KEY, password TEXT, hint TEXT GENERATED ALWAYS AS (substr(password, 1, 2)) STORED,
    twice INTEGER GENERATED ALWAYS AS (account_id * 2) STORED
);
CREATE TABLE secrets (user_id TEXT, token TEXT);
CREATE INDEX users_by_email ON users (email);
CREATE VIEW order_sums AS SELECT user_id, count(*) AS orders, sum(total) AS total FROM orders GROUP BY user_id;
CREATE VIEW user_mails AS SELECT name, email FROM users;
CREATE VIEW all_secrets AS SELECT token FROM secrets;
INSERT INTO users VALUES
    ('ann_1', 'Ann', 'ann@example.com', 'TX', '2024-01-05', 'p1'), ('bob_2', 'Bob', 'bob@example.com', 'CA', '2024-02-11', 'p2'),
    ('cy_3', 'Cy; DROP TABLE users', NULL, 'TX', '2024-03-20', 'p3');
INSERT INTO products VALUES
    (1, 'Lamp', 19.5, '{"color": "red", "sizes": [1, 2]}'), (2, 'Desk', 240, '{"color": "oak", "sizes": []}'),
    (3, 'Update Kit', 5.25, NULL);
INSERT INTO orders VALUES
    ('#1', 'ann_1', 'pending', '2024-05-01', 259.5), ('#2', 'ann_1', 'delivered', '2024-04-02', 5.25),
    ('#3', 'bob_2', 'cancelled', '2024-05-03', 19.5), ('#4', 'cy_3', 'pending', '2023-12-31', 39);
INSERT INTO items VALUES ('#1', 1, 1), ('#1', 2, 1), ('#2', 3, 1), ('#3', 1, 1), ('#4', 1, 2);
INSERT INTO log VALUES ('DELETE FROM users', 1, 2, 'drop table', 'x', 'y', 'z'), ('none', 3, 4, 'b', 'select 1', 'q', 'p');
INSERT INTO accounts (account_id, password) VALUES (1, 'token-2');
INSERT INTO secrets VALUES ('ann_1', 'token-1'), ('bob_2', 'token-2');
