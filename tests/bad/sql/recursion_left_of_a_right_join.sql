CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE VIEW v AS WITH RECURSIVE walk(a, b) AS (
  SELECT src, dst FROM link
  UNION
  SELECT l.src, w.b FROM (SELECT * FROM walk WHERE a > 'm') w RIGHT JOIN link l ON l.dst = w.a)
SELECT * FROM walk;
