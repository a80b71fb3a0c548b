CREATE TABLE t(id INT, at TIMESTAMP DEFAULT current_timestamp());
