CREATE TABLE t(a INT, b INT);
CREATE VIEW v AS
  WITH RECURSIVE r(a, b) AS (
    SELECT a, b FROM t
    UNION
    SELECT r.a, t.b FROM r JOIN t ON t.a = r.b) CYCLE a SET seen USING path
  SELECT * FROM r;
