-- A small public library: another schema than the store's, with dates, for the questions of library.jsonl.

CREATE TABLE branches (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    district TEXT NOT NULL,
    opened_on DATE NOT NULL
);

CREATE TABLE authors (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    country TEXT NOT NULL,
    born_on DATE
);

CREATE TABLE books (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    author_id INTEGER NOT NULL REFERENCES authors (id),
    branch_id INTEGER NOT NULL REFERENCES branches (id),
    genre TEXT NOT NULL,
    pages INTEGER NOT NULL,
    published_on DATE NOT NULL,
    for_children BOOLEAN NOT NULL
);

CREATE TABLE members (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    district TEXT NOT NULL,
    joined_on DATE NOT NULL,
    is_student BOOLEAN NOT NULL
);

CREATE TABLE loans (
    id INTEGER PRIMARY KEY,
    member_id INTEGER NOT NULL REFERENCES members (id),
    book_id INTEGER NOT NULL REFERENCES books (id),
    lent_on DATE NOT NULL,
    due_on DATE NOT NULL,
    returned_on DATE,
    fine_cents INTEGER NOT NULL
);

INSERT INTO branches VALUES
    (1, 'Market Square', 'Centre', '1962-05-02'),
    (2, 'Hillside', 'North', '1988-09-15'),
    (3, 'Docklands', 'Harbour', '2019-04-01');

INSERT INTO authors VALUES
    (1, 'Ingrid Solheim', 'Norway', '1951-03-14'),
    (2, 'Marek Dvorak', 'Czechia', '1968-11-02'),
    (3, 'Amara Osei', 'Ghana', '1979-07-21'),
    (4, 'Lucia Ferrant', 'Italy', '1985-01-30'),
    (5, 'Tom Hallworth', 'England', NULL),
    (6, 'Yuki Arakawa', 'Japan', '1990-06-09'),
    (7, 'Signe Brandt', 'Norway', '1974-12-25');

INSERT INTO books VALUES
    (1, 'The Salt Harbour', 1, 1, 'novel', 412, '1998-09-01', 0),
    (2, 'Winter Ledger', 1, 2, 'crime', 356, '2007-02-15', 0),
    (3, 'A Tram for Everyone', 2, 1, 'history', 288, '2012-05-20', 0),
    (4, 'Seven Quiet Bridges', 2, 3, 'travel', 240, '2021-04-11', 0),
    (5, 'The Drum Maker', 3, 1, 'novel', 331, '2015-10-05', 0),
    (6, 'Kofi and the Kite', 3, 2, 'picture book', 32, '2019-03-08', 1),
    (7, 'Kofi at the Sea', 3, 3, 'picture book', 36, '2022-06-17', 1),
    (8, 'Glass Orchard', 4, 2, 'novel', 298, '2018-01-22', 0),
    (9, 'The Lighthouse Code', 4, 3, 'crime', 374, '2023-09-28', 0),
    (10, 'Bread by Hand', 5, 1, 'cooking', 210, '2004-11-30', 0),
    (11, 'Soup All Year', 5, 3, 'cooking', 188, '2016-02-02', 0),
    (12, 'Paper Foxes', 6, 2, 'picture book', 40, '2020-08-14', 1),
    (13, 'Night Bus to Nara', 6, 1, 'travel', 264, '2024-03-19', 0),
    (14, 'The Frozen Key', 7, 1, 'crime', 402, '2011-07-07', 0);

INSERT INTO members VALUES
    (1, 'Clara Bright', 'Centre', '2017-02-11', 0),
    (2, 'Omar Nasser', 'North', '2018-06-23', 0),
    (3, 'Pia Lund', 'Harbour', '2019-05-02', 1),
    (4, 'Ethan Cole', 'Centre', '2019-12-30', 0),
    (5, 'Mina Park', 'North', '2021-03-15', 1),
    (6, 'Jorge Ruiz', 'Harbour', '2021-10-08', 0),
    (7, 'Hazel Stone', 'Centre', '2022-01-19', 1),
    (8, 'Viktor Blom', 'North', '2022-11-04', 0),
    (9, 'Anya Petrova', 'Harbour', '2023-04-27', 1),
    (10, 'Samir Haddad', 'Centre', '2024-01-05', 0),
    (11, 'Ruth Meyer', 'West', '2024-05-16', 0),
    (12, 'Leo Fontaine', 'North', '2024-09-12', 1);

INSERT INTO loans VALUES
    (1, 1, 1, '2023-01-09', '2023-01-30', '2023-01-27', 0),
    (2, 1, 3, '2023-03-14', '2023-04-04', '2023-04-10', 120),
    (3, 2, 2, '2023-03-20', '2023-04-10', '2023-04-08', 0),
    (4, 3, 6, '2023-05-05', '2023-05-26', '2023-05-20', 0),
    (5, 5, 8, '2023-06-17', '2023-07-08', '2023-07-30', 440),
    (6, 6, 14, '2023-08-22', '2023-09-12', '2023-09-12', 0),
    (7, 7, 5, '2023-10-02', '2023-10-23', '2023-10-19', 0),
    (8, 4, 10, '2023-11-11', '2023-12-02', '2023-12-05', 60),
    (9, 9, 9, '2023-12-18', '2024-01-08', '2024-01-04', 0),
    (10, 1, 9, '2024-01-15', '2024-02-05', '2024-02-01', 0),
    (11, 10, 1, '2024-01-22', '2024-02-12', '2024-02-20', 160),
    (12, 3, 7, '2024-02-06', '2024-02-27', '2024-02-25', 0),
    (13, 5, 2, '2024-03-04', '2024-03-25', '2024-03-22', 0),
    (14, 2, 14, '2024-03-11', '2024-04-01', '2024-04-15', 280),
    (15, 6, 4, '2024-03-29', '2024-04-19', '2024-04-18', 0),
    (16, 7, 12, '2024-04-08', '2024-04-29', '2024-04-29', 0),
    (17, 8, 9, '2024-05-13', '2024-06-03', '2024-06-01', 0),
    (18, 9, 13, '2024-06-03', '2024-06-24', '2024-06-21', 0),
    (19, 1, 14, '2024-06-19', '2024-07-10', '2024-07-09', 0),
    (20, 11, 5, '2024-07-02', '2024-07-23', '2024-08-02', 200),
    (21, 3, 12, '2024-08-15', '2024-09-05', NULL, 0),
    (22, 5, 13, '2024-09-09', '2024-09-30', '2024-09-27', 0),
    (23, 12, 9, '2024-09-20', '2024-10-11', NULL, 0),
    (24, 1, 4, '2024-09-26', '2024-10-17', NULL, 0);
