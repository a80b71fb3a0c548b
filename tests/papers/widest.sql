-- The highest bandwidth between two nodes, with the maximum inside the recursion: it ends on cycles too.
create table link (src string not null, dst string not null, bandwidth bigint not null);

create materialized view maxBandwidth as
with recursive maxBandwidth(src, dst, bandwidth) as
( select src, dst, max(bandwidth)
  from link
  group by src, dst
  union
  select L.src, B.dst, max(least(L.bandwidth, B.bandwidth))
  from link L, maxBandwidth B
  where L.dst = B.src
  group by L.src, B.dst)
select src, dst, bandwidth from maxBandwidth;
