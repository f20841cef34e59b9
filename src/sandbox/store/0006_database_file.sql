-- The name under which a database file was last used: SQLite's write-ahead log lies beside that name. SQLite alone has this.

CREATE TABLE database_file (path TEXT NOT NULL);
