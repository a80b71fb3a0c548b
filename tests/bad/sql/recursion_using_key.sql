CREATE TABLE t(a INT, b INT);
CREATE VIEW v AS
  WITH RECURSIVE r(a, b) USING KEY (a) AS (
    SELECT a, b FROM t
    UNION
    SELECT r.a, t.b FROM r JOIN t ON t.a = r.b)
  SELECT * FROM r;
