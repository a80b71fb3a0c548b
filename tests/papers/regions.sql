-- Query 3: contiguous regions of triggered sensors, and the largest of them. Sensors are near below 20 meters.
create table sensor (sensorid string not null, coord array<double> not null, primary key (sensorid));
create table mainSensorInRegion (regionid string not null, sensorid string not null);
create table isTriggered (sensorid string not null);

create materialized view activeRegion as
with recursive activeRegion(regionid, sensorid) as
  ( select M.regionid, S.sensorid
    from sensor S, mainSensorInRegion M, isTriggered T
    where M.sensorid = S.sensorid and S.sensorid = T.sensorid
  union
    select A.regionid, S2.sensorid
    from sensor S1, sensor S2, activeRegion A, isTriggered T
    where distance(S1.coord, S2.coord) < 20
      and S1.sensorid = A.sensorid and S1.sensorid = T.sensorid )
select regionid, sensorid from activeRegion;

create materialized view regionSizes(regionid, size) as
  (select regionid, count(sensorid)
   from activeRegion
   group by regionid);

create materialized view largestRegion(size) as
  (select max(size) from regionSizes);

create materialized view largestRegions(regionid) as
  (select R.regionid
   from regionSizes R, largestRegion L
   where R.size = L.size);
