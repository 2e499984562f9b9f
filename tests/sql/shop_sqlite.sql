CREATE VIRTUAL TABLE notes USING fts5(body);
INSERT INTO notes VALUES ('the lamp is broken'), ('the desk is fine');
CREATE TABLE blobs (id INTEGER PRIMARY KEY, data BLOB, ratio REAL);
INSERT INTO blobs VALUES (1, x'00ff', 0.5), (2, NULL, NULL);
CREATE VIRTUAL TABLE user_index USING fts5(name, email, content='users');
INSERT INTO user_index (user_index) VALUES ('rebuild');
CREATE VIRTUAL TABLE user_words USING fts5vocab(user_index, 'row');
CREATE VIEW note_ids AS SELECT rowid AS id, body FROM notes;
