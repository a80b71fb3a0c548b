CREATE TABLE t(a STRING, at TIMESTAMP, v INT);
CREATE VIEW v AS
SELECT session_window(at, '10 seconds').start AS s FROM t;
