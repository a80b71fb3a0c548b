CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, cost INT);
CREATE TABLE node(name STRING, age INT,
                  CONSTRAINT grown CHECK (age >= 18));
