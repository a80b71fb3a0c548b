CREATE TABLE orders(id INT, customer INT REFERENCES customer(id));
