CREATE VIRTUAL TABLE notes USING fts5(body);
INSERT INTO notes VALUES ('the lamp is broken'), ('the desk is fine');
CREATE TABLE blobs (id INTEGER PRIMARY KEY, data BLOB, ratio REAL);
INSERT INTO blobs VALUES (1, x'00ff', 0.5), (2, NULL, NULL);
