CREATE FUNCTION f AS 'org.example.F';
