CREATE TABLE orders(id INT PRIMARY KEY, customer INT NOT NULL, day DATE);
CREATE TABLE item(orders INT NOT NULL, price DOUBLE NOT NULL, kind STRING)
    TBLPROPERTIES ('window_rows' = '1000', 'window_partition' = 'orders, kind');
CREATE TABLE customer(id INT PRIMARY KEY, name STRING);
CREATE TABLE visit(customer INT, at TIMESTAMP)
    TBLPROPERTIES ('ttl' = '90 minutes', 'ttl_column' = 'at', 'window_rows' = '1');
CREATE VIEW spent AS
    SELECT name, count(*) AS items, sum(price) AS total
    FROM customer JOIN orders ON customer.id = customer JOIN item ON orders = orders.id
    WHERE price > 1.5 AND year(day) = 2026 GROUP BY name;
CREATE VIEW lost AS
    SELECT DISTINCT name FROM customer c
    WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)
      AND c.id NOT IN (SELECT customer FROM visit WHERE customer IS NOT NULL);
INSERT INTO customer VALUES (1, 'Ann'), (2, 'Bob');
INSERT INTO orders VALUES (7, 1, DATE '2026-01-31');
INSERT INTO item VALUES (7, 10.0, 'book'), (7, 10.0, 'book');
