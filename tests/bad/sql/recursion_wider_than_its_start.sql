CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, km DECIMAL(10,2) NOT NULL);
CREATE VIEW v AS WITH RECURSIVE way(src, dst, km) AS (
  SELECT src, dst, km FROM link
  UNION
  SELECT a.src, b.dst, a.km + b.km FROM way a JOIN link b ON a.dst = b.src WHERE a.km < 100)
SELECT * FROM way;
