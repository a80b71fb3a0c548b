CREATE TABLE t(a STRING, at TIMESTAMP, v INT);
CREATE VIEW v AS
SELECT count(*) AS n FROM t GROUP BY window(at, '10 seconds'), window(at, '20 seconds');
