CREATE TABLE t(a STRING, at TIMESTAMP, v INT);
CREATE VIEW v AS
SELECT count(*) AS n FROM t GROUP BY window(a, '10 seconds');
