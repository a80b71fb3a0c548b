-- Reachable pairs within a radius of two hops, and how many nodes each node has around it.
create table link (src string not null, dst string not null);

create materialized view within as
with recursive within(src, dst, hops) as
( select src, dst, 1
  from link
  union
  select link.src, within.dst, within.hops + 1
  from link, within
  where link.dst = within.src and within.hops < 2)
select src, dst, hops from within;

create materialized view horizon(src, nodes) as
select src, count(distinct dst)
from within
group by src;
