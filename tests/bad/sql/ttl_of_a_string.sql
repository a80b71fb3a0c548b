CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE TABLE node(name STRING PRIMARY KEY, city STRING, built DATE);
CREATE TABLE t(a INT, b STRING) TBLPROPERTIES ('ttl' = '5 minutes', 'ttl_column' = 'b');
