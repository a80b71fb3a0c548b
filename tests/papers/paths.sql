-- Query 2 as it stands: all paths, then the cheapest and the shortest of them. It ends on links without cycles.
create table link (src string not null, dst string not null, cost bigint not null);

create materialized view path as
with recursive path(src, dst, vec, cost, length) as
((select src, dst, src || '.' || dst, cost, 1
  from link
 ) union (
  select L.src, P.dst, L.src || '.' || P.vec, L.cost + P.cost, P.length + 1
  from link L, path P
  where L.dst = P.src
 ))
select src, dst, vec, cost, length from path;

create materialized view minCost(src, dst, cost) as
(select src, dst, min(cost) from path
 group by src, dst);

create materialized view minHops(src, dst, length) as
(select src, dst, min(length) from path
 group by src, dst);

create materialized view cheapestPath(src, dst, vec, cost) as
(select P.src, P.dst, P.vec, P.cost
 from path P, minCost C
 where P.src = C.src and P.dst = C.dst and P.cost = C.cost);

create materialized view fewestHops(src, dst, vec, length) as
(select P.src, P.dst, P.vec, P.length
 from path P, minHops H
 where P.src = H.src and P.dst = H.dst and P.length = H.length);

create materialized view shortestCheapestPath(src, dst, vec1, cost, vec2, length) as
(select P.src, P.dst, P.vec, P.cost, H.vec, H.length
 from cheapestPath P, fewestHops H
 where P.src = H.src and P.dst = H.dst);
