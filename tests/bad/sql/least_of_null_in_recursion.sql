CREATE TABLE pipe(a STRING, b STRING, width INT);
CREATE VIEW widest AS
WITH RECURSIVE w(a, b, width) AS (
  SELECT a, b, max(width) FROM pipe GROUP BY a, b
  UNION
  SELECT p.a, w.b, max(least(p.width, w.width)) FROM pipe p JOIN w ON p.b = w.a GROUP BY p.a, w.b
)
SELECT * FROM w;
