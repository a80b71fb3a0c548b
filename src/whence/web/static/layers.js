// Where the nodes of a graph go: layers from left to right, what is read before what reads it, with few crossings.

const WIDTH = 196;
const HEIGHT = 66;
const ACROSS = 64;
const BETWEEN = 20;
// Where a layer has more nodes than this, all of them are lower and closer, and begin at the top.
const MANY = 8;
const LOW = 40;
const CLOSE = 8;
// Room above for lines that lead back.
const BACK = 36;
// A line that passes through a layer needs less room than a node.
const PASSING = 18;
const MARGIN = 12;
const SWEEPS = 6;

/** Places for nodes, the way of every edge, and the size of it all. `nodes` have a name and the names they read.
 *  Nodes that are `low` have room for two lines of text, others for three. */
export function layout(nodes) {
  const depth = depths(nodes);
  const most = Math.max(0, ...[...count(depth.values()).values()]);
  const low = most > MANY;
  const tall = low ? LOW : HEIGHT;
  const layers = Array.from({ length: Math.max(0, ...depth.values()) + 1 }, () => []);
  for (const node of nodes) layers[depth.get(node.name)].push({ name: node.name, height: tall, near: [] });
  const edges = chains(nodes, depth, layers);
  order(layers);
  const top = edges.some((edge) => edge.backwards) ? BACK : MARGIN;
  const height = place(layers, low, top);
  const places = new Map();
  for (const layer of layers) {
    for (const item of layer) {
      if (item.name !== undefined) places.set(item.name, { x: item.x, y: item.y, width: WIDTH, height: tall });
    }
  }
  return { places, low, edges: edges.map(way), width: MARGIN * 2 + layers.length * (WIDTH + ACROSS) - ACROSS, height };
}

function count(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** The longest way from a table. Views that need each other are as deep as the first of them that is met. */
function depths(nodes) {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const found = new Map();
  const visit = (node, above) => {
    if (found.has(node.name)) return found.get(node.name);
    if (above.has(node.name)) return 0;
    above.add(node.name);
    const below = node.reads.filter((name) => byName.has(name) && !above.has(name));
    const depth = below.length ? 1 + Math.max(...below.map((name) => visit(byName.get(name), above))) : 0;
    above.delete(node.name);
    found.set(node.name, depth);
    return depth;
  };
  for (const node of nodes) visit(node, new Set());
  return found;
}

/** Edges, with an item in every layer that they pass. */
function chains(nodes, depth, layers) {
  const items = new Map(layers.flat().map((item) => [item.name, item]));
  const edges = [];
  for (const node of nodes) {
    for (const read of node.reads) {
      if (!items.has(read)) continue;
      const [from, to] = [depth.get(read), depth.get(node.name)];
      const chain = [items.get(read)];
      for (let at = from + 1; at < to; at += 1) {
        const passing = { height: PASSING, near: [] };
        layers[at].push(passing);
        chain.push(passing);
      }
      chain.push(items.get(node.name));
      chain.slice(1).forEach((item, at) => {
        item.near.push(chain[at]);
        chain[at].near.push(item);
      });
      edges.push({ from: read, to: node.name, chain, backwards: from >= to });
    }
  }
  return edges;
}

/** Every item goes to the middle of what it is connected with, layer by layer, there and back. */
function order(layers) {
  const number = () => layers.forEach((layer) => layer.forEach((item, at) => { item.at = at / layer.length; }));
  number();
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const way = sweep % 2 ? [...layers].reverse() : layers;
    for (const layer of way) {
      for (const item of layer) {
        const near = item.near.filter((other) => !layer.includes(other));
        item.wanted = near.length ? near.reduce((sum, other) => sum + other.at, 0) / near.length : item.at;
      }
      layer.sort((one, other) => one.wanted - other.wanted);
      layer.forEach((item, at) => { item.at = at / layer.length; });
    }
  }
}

function place(layers, low, top) {
  const between = low ? CLOSE : BETWEEN;
  const room = (layer) => layer.reduce((sum, item) => sum + item.height + between, -between);
  const most = Math.max(0, ...layers.map(room));
  layers.forEach((layer, number) => {
    let y = top + (low ? 0 : (most - room(layer)) / 2);
    for (const item of layer) {
      item.x = MARGIN + number * (WIDTH + ACROSS);
      item.y = y;
      y += item.height + between;
    }
  });
  return most + top + MARGIN;
}

/** A smooth line from the right of what is read to the left of what reads it. */
function way({ from, to, chain, backwards }) {
  const start = chain[0];
  const end = chain.at(-1);
  if (backwards) {
    const [x, y] = [start.x + WIDTH / 2, start.y];
    const [toX, toY] = [end.x + WIDTH / 2, end.y];
    return { from, to, path: `M${x},${y} C${x},${y - 40} ${toX},${toY - 40} ${toX},${toY}` };
  }
  let x = start.x + WIDTH;
  let y = start.y + start.height / 2;
  let path = `M${x},${y}`;
  for (const item of chain.slice(1)) {
    const toY = item.y + item.height / 2;
    path += ` C${x + ACROSS / 2},${y} ${item.x - ACROSS / 2},${toY} ${item.x},${toY}`;
    if (item.name === undefined) path += ` L${item.x + WIDTH},${toY}`;
    x = item.x + WIDTH;
    y = toY;
  }
  return { from, to, path };
}
