-- The name under which a database file was last used: SQLite's write-ahead log is beside that name.

CREATE TABLE database_file (path TEXT NOT NULL);
