CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE VIEW v AS
SELECT src, current_timestamp AS at FROM link;
