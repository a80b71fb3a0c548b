CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE VIEW v AS
SELECT src, row_number() AS n FROM link;
