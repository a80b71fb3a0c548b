CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE TABLE node(name STRING, age INT,
                  CONSTRAINT known CHECK (name IN (SELECT src FROM link)));
