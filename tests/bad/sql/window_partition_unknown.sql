CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE TABLE node(name STRING PRIMARY KEY, city STRING, built DATE);
CREATE TABLE t(sensor INT, b INT) TBLPROPERTIES ('window_rows' = '5', 'window_partition' = 'b, senzor');
