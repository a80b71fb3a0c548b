CREATE TABLE t(id INT, UNIQUE (ident));
