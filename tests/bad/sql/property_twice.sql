CREATE TABLE w(a INT) TBLPROPERTIES ('ttl' = '1 day', 'ttl' = '2 days');
