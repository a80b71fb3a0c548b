-- Questions about multicast and aggregation trees.
create table tree (parent string not null, child string not null);

create materialized view leaf as
select child as node
from tree
where not exists (select * from tree below where below.parent = tree.child);

-- The height of each subtree, at its root.
create materialized view height as
with recursive height(root, height) as
( select node, 0
  from leaf
  union
  select T.parent, max(H.height + 1)
  from tree T, height H
  where T.child = H.root
  group by T.parent)
select root, height from height;

-- How far the lowest and the highest leaf of a subtree are apart.
create materialized view leafDepth as
with recursive leafDepth(root, leaf, depth) as
( select node, node, 0
  from leaf
  union
  select T.parent, D.leaf, D.depth + 1
  from tree T, leafDepth D
  where T.child = D.root)
select root, leaf, depth from leafDepth;

create materialized view imbalance(root, difference) as
select root, max(depth) - min(depth)
from leafDepth
group by root;

-- The pairs of nodes at the same level.
create materialized view sameGeneration as
with recursive sameGeneration(node, peer) as
( select X.child, Y.child
  from tree X, tree Y
  where X.parent = Y.parent
  union
  select X.child, Y.child
  from tree X, sameGeneration G, tree Y
  where X.parent = G.node and G.peer = Y.parent)
select node, peer from sameGeneration;
