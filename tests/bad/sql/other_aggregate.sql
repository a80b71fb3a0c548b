CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE TABLE node(name STRING PRIMARY KEY, city STRING, built DATE);
CREATE VIEW v AS SELECT histogram_numeric(cost, 5) AS s FROM link;
