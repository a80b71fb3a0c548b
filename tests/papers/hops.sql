-- The shortest paths by number of links. It ends on links without cycles.
create table link (src string not null, dst string not null);

create materialized view path as
with recursive path(src, dst, vec, length) as
( select src, dst, src || '.' || dst, 1 from link
union
  select link.src, path.dst, link.src || '.' || vec,
  length + 1
  from link, path where link.dst = path.src)
select src, dst, vec, length from path;

create materialized view minHops(src, dst, length) as
  (select src, dst, min(length) from path
  group by src, dst);

create materialized view shortestPath(src, dst, vec, length) as
  (select P.src, P.dst, vec, P.length
  from path P, minHops H where P.src = H.src
  and P.dst = H.dst and P.length = H.length);
