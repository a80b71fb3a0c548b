-- The cable between London and Reykjavik breaks. Traffic takes the detour over Amsterdam and Copenhagen.
DELETE FROM link WHERE (src = 'London' AND dst = 'Reykjavik') OR (src = 'Reykjavik' AND dst = 'London');

-- The cable between Copenhagen and Reykjavik fails as well, the last one that Iceland has.
DELETE FROM link WHERE src = 'Reykjavik' OR dst = 'Reykjavik';

-- The first cable is repaired. Iceland is back, at the old distance.
INSERT INTO link VALUES ('London', 'Reykjavik', 1888), ('Reykjavik', 'London', 1888);
