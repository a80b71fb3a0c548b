CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE TABLE node(name STRING PRIMARY KEY, city STRING, built DATE);
INSERT INTO link(src, dts) VALUES ('a', 'b');
