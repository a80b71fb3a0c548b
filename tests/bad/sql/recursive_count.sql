CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE TABLE node(name STRING PRIMARY KEY, city STRING, built DATE);
CREATE VIEW v AS WITH RECURSIVE r(a, n) AS (
  SELECT src, count(*) FROM link GROUP BY src
  UNION
  SELECT l.src, count(*) FROM link l, r WHERE l.dst = r.a GROUP BY l.src)
SELECT * FROM r;
