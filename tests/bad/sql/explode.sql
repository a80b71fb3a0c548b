CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE VIEW v AS
SELECT src, explode(array(cost, 2)) + 1 AS n FROM link;
