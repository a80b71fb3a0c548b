CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE TABLE node(name STRING PRIMARY KEY, city STRING, built DATE);
CREATE VIEW v AS
SELECT l.src FROM link l JOIN node n ON n.nam = l.dst;
