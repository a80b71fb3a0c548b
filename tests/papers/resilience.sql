-- Routing resilience: the number of paths between two nodes. It ends on links without cycles.
create table link (src string not null, dst string not null);

create materialized view path as
with recursive path(src, dst, vec) as
( select src, dst, src || '.' || dst
  from link
  union
  select link.src, path.dst, link.src || '.' || path.vec
  from link, path
  where link.dst = path.src)
select src, dst, vec from path;

create materialized view resilience(src, dst, paths) as
select src, dst, count(vec)
from path
group by src, dst;
