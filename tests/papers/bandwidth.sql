-- The paths of highest bandwidth, which is that of a path's narrowest link. It ends on links without cycles.
create table link (src string not null, dst string not null, bandwidth bigint not null);

create materialized view path as
with recursive path(src, dst, vec, bandwidth) as
( select src, dst, src || '.' || dst, bandwidth
  from link
  union
  select L.src, P.dst, L.src || '.' || P.vec, least(L.bandwidth, P.bandwidth)
  from link L, path P
  where L.dst = P.src)
select src, dst, vec, bandwidth from path;

create materialized view maxBandwidth(src, dst, bandwidth) as
(select src, dst, max(bandwidth) from path
 group by src, dst);

create materialized view highestBandwidthPath(src, dst, vec, bandwidth) as
(select P.src, P.dst, P.vec, P.bandwidth
 from path P, maxBandwidth B
 where P.src = B.src and P.dst = B.dst and P.bandwidth = B.bandwidth);
