CREATE VIEW v AS SELECT * FROM parquet.`/data/x.parquet`;
