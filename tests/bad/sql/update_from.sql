CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE TABLE node(name STRING PRIMARY KEY, city STRING NOT NULL, built DATE);
INSERT INTO node VALUES ('n1', 'Oslo', NULL), ('n2', 'Bergen', NULL);
UPDATE link SET cost = node.size FROM node WHERE name = src;
