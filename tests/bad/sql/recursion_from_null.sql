CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE VIEW v AS WITH RECURSIVE way(src, dst, via) AS (
  SELECT src, dst, NULL FROM link
  UNION
  SELECT a.src, b.dst, a.dst FROM way a JOIN link b ON a.dst = b.src)
SELECT * FROM way;
