-- A research network: its routers, and its links with their length. A link carries traffic one way.
CREATE TABLE router(name STRING PRIMARY KEY, country STRING NOT NULL, lon DOUBLE, lat DOUBLE)
TBLPROPERTIES ('source' = 'router.csv');
CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, km INT NOT NULL, PRIMARY KEY (src, dst))
TBLPROPERTIES ('source' = 'link.csv');

-- Who can reach whom, over any number of links.
CREATE MATERIALIZED VIEW reachable AS
WITH RECURSIVE reach(src, dst) AS (
  SELECT src, dst FROM link
  UNION
  SELECT l.src, r.dst FROM link l JOIN reach r ON l.dst = r.src WHERE l.src <> r.dst)
SELECT src, dst FROM reach;

-- The shortest way between any two routers.
CREATE MATERIALIZED VIEW shortest AS
WITH RECURSIVE way(src, dst, km) AS (
  SELECT src, dst, min(km) FROM link GROUP BY src, dst
  UNION
  SELECT l.src, w.dst, min(l.km + w.km) FROM link l JOIN way w ON l.dst = w.src
  WHERE l.src <> w.dst GROUP BY l.src, w.dst)
SELECT src, dst, km FROM way;

-- How far every router is from the control room in London.
CREATE MATERIALIZED VIEW distance AS
SELECT dst AS router, km FROM shortest WHERE src = 'London';

-- The routers that the control room has lost.
CREATE MATERIALIZED VIEW cut_off AS
SELECT name, country FROM router
WHERE name <> 'London' AND NOT EXISTS (SELECT * FROM reachable WHERE src = 'London' AND dst = name);
