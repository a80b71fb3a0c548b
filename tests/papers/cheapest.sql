-- Query 2 with the minimum inside the recursion: only the best paths are followed, so it ends on cycles too.
create table link (src string not null, dst string not null, cost bigint not null);

create materialized view minCost as
with recursive minCost(src, dst, cost) as
( select src, dst, min(cost)
  from link
  group by src, dst
  union
  select L.src, C.dst, min(L.cost + C.cost)
  from link L, minCost C
  where L.dst = C.src
  group by L.src, C.dst)
select src, dst, cost from minCost;

create materialized view minHops as
with recursive minHops(src, dst, length) as
( select src, dst, 1
  from link
  union
  select L.src, H.dst, min(H.length + 1)
  from link L, minHops H
  where L.dst = H.src
  group by L.src, H.dst)
select src, dst, length from minHops;

create materialized view cheapestPath as
with recursive cheapestPath(src, dst, vec, cost) as
( select L.src, L.dst, L.src || '.' || L.dst, L.cost
  from link L, minCost C
  where L.src = C.src and L.dst = C.dst and L.cost = C.cost
  union
  select L.src, P.dst, L.src || '.' || P.vec, C.cost
  from link L, cheapestPath P, minCost C
  where L.dst = P.src and L.src = C.src and P.dst = C.dst and L.cost + P.cost = C.cost)
select src, dst, vec, cost from cheapestPath;

create materialized view fewestHops as
with recursive fewestHops(src, dst, vec, length) as
( select L.src, L.dst, L.src || '.' || L.dst, 1
  from link L
  union
  select L.src, P.dst, L.src || '.' || P.vec, H.length
  from link L, fewestHops P, minHops H
  where L.dst = P.src and L.src = H.src and P.dst = H.dst and P.length + 1 = H.length)
select src, dst, vec, length from fewestHops;

create materialized view shortestCheapestPath(src, dst, vec1, cost, vec2, length) as
(select P.src, P.dst, P.vec, P.cost, H.vec, H.length
 from cheapestPath P, fewestHops H
 where P.src = H.src and P.dst = H.dst);
