CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE VIEW v AS WITH RECURSIVE walk(a, b) AS (
  SELECT src, dst FROM link
  UNION
  SELECT w.a, l.dst FROM walk w LEFT JOIN link l ON l.src > w.b)
SELECT * FROM walk;
