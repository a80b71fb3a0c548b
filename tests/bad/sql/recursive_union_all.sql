CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE TABLE node(name STRING PRIMARY KEY, city STRING, built DATE);
CREATE VIEW v AS WITH RECURSIVE r(a, b) AS (
  SELECT src, dst FROM link
  UNION ALL
  SELECT l.src, r.b FROM link l, r WHERE l.dst = r.a)
SELECT * FROM r;
