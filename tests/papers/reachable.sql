-- Query 1: all pairs of nodes that can reach each other, and the nodes on a cycle.
create table link (src string not null, dst string not null);

create materialized view reachable as
with recursive reachable(src, dst) as
( select src, dst
  from link
  union
  select link.src, reachable.dst
  from link, reachable
  where link.dst = reachable.src)
select src, dst from reachable;

create materialized view onCycle as
select src from reachable where src = dst;
