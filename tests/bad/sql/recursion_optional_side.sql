CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE VIEW v AS WITH RECURSIVE walk(a, b) AS (
  SELECT src, dst FROM link
  UNION
  SELECT l.src, w.b FROM link l LEFT JOIN walk w ON l.dst = w.a)
SELECT * FROM walk;
