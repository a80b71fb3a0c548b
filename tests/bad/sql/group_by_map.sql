CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE TABLE node(name STRING PRIMARY KEY, city STRING, built DATE);
CREATE VIEW v AS SELECT map(src, cost) AS m, count(*) AS n FROM link GROUP BY map(src, cost);
