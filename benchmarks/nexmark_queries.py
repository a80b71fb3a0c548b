"""The queries q0 to q22 of Nexmark as Spark SQL, over the generator's tables with times as timestamps.

Ties are decided where a query takes the first row, so that every system has the same rows. q6 has the last ten auctions
of a seller, q12 counts by the time of the bid since a view has no clock, and q13 joins with a table of twenty rows.
"""

from __future__ import annotations

SCHEMA = """
CREATE TABLE person(id BIGINT PRIMARY KEY, name STRING, city STRING, state STRING, date_time TIMESTAMP_NTZ);
CREATE TABLE auction(id BIGINT PRIMARY KEY, item_name STRING, seller BIGINT, category BIGINT, date_time TIMESTAMP_NTZ,
  expires TIMESTAMP_NTZ);
CREATE TABLE bid(auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, date_time TIMESTAMP_NTZ, url STRING,
  extra STRING);
CREATE TABLE side(key BIGINT PRIMARY KEY, value STRING);
"""
DAY = "date_format(date_time, 'yyyy-MM-dd')"
IN_TIME = "b.date_time BETWEEN a.date_time AND a.expires"
SOLD = f"""
  SELECT a.id, a.seller, a.category, max(b.price) AS final, max(b.date_time) AS date_time
  FROM auction a JOIN bid b ON a.id = b.auction WHERE {IN_TIME} GROUP BY a.id, a.seller, a.category
"""
LEVELS = ("price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")
RANKS = ", ".join(f"count(*) FILTER (WHERE {level}) AS rank{at}_bids" for at, level in enumerate(LEVELS, 1))


def distinct(column: str) -> str:
    ranked = (f"count(DISTINCT {column}) FILTER (WHERE {level})" for level in LEVELS)
    named = (f"{text} AS rank{at}_{column}s" for at, text in enumerate(ranked, 1))
    return ", ".join((f"count(DISTINCT {column}) AS total_{column}s", *named))


CHANNEL_ID = r"regexp_extract(url, '(&|^)channel_id=([^&]*)', 2)"
QUERIES = {
    "q0": "SELECT auction, bidder, price, date_time, extra FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price AS price, date_time, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """
      SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id
      WHERE a.category = 10 AND (p.state = 'OR' OR p.state = 'ID' OR p.state = 'CA')
    """,
    "q4": f"SELECT category, avg(final) AS average FROM ({SOLD}) AS sold GROUP BY category",
    "q5": """
      WITH counts AS (
        SELECT auction, count(*) AS num, window.start AS starttime, window.end AS endtime
        FROM bid GROUP BY auction, window(date_time, '10 seconds', '2 seconds'))
      SELECT c.auction, c.num, c.starttime FROM counts c
      JOIN (SELECT max(num) AS maxn, starttime, endtime FROM counts GROUP BY starttime, endtime) AS m
        ON c.starttime = m.starttime AND c.endtime = m.endtime AND c.num >= m.maxn
    """,
    "q6": f"""
      SELECT seller, avg(final) OVER (
        PARTITION BY seller ORDER BY date_time, id ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS average
      FROM ({SOLD}) AS sold
    """,
    "q7": """
      SELECT b.auction, b.price, b.bidder, b.date_time, b.extra FROM bid b
      JOIN (SELECT max(price) AS maxprice, window.end AS date_time
            FROM bid GROUP BY window(date_time, '10 seconds')) AS m
        ON b.price = m.maxprice
      WHERE b.date_time BETWEEN m.date_time - INTERVAL '10' SECOND AND m.date_time
    """,
    "q8": """
      SELECT p.id, p.name, p.starttime FROM (
        SELECT id, name, window.start AS starttime, window.end AS endtime
        FROM person GROUP BY id, name, window(date_time, '10 seconds')) AS p
      JOIN (
        SELECT seller, window.start AS starttime, window.end AS endtime
        FROM auction GROUP BY seller, window(date_time, '10 seconds')) AS a
      ON p.id = a.seller AND p.starttime = a.starttime AND p.endtime = a.endtime
    """,
    "q9": f"""
      SELECT id, item_name, seller, auction, bidder, price, bid_time FROM (
        SELECT a.id, a.item_name, a.seller, b.auction, b.bidder, b.price, b.date_time AS bid_time,
          row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time, b.bidder) AS rownum
        FROM auction a JOIN bid b ON a.id = b.auction WHERE {IN_TIME}) AS ranked
      WHERE rownum <= 1
    """,
    "q10": f"SELECT auction, bidder, price, date_time, extra, {DAY} AS day, date_format(date_time, 'HH:mm') FROM bid",
    "q11": """
      SELECT bidder, count(*) AS bid_count, session_window.start AS starttime, session_window.end AS endtime
      FROM bid GROUP BY bidder, session_window(date_time, '10 seconds')
    """,
    "q12": """
      SELECT bidder, count(*) AS bid_count, window.start AS starttime, window.end AS endtime
      FROM bid GROUP BY bidder, window(date_time, '10 seconds')
    """,
    "q13": """
      SELECT b.auction, b.bidder, b.price, b.date_time, s.value FROM bid b JOIN side s ON b.auction % 20 = s.key
    """,
    "q14": """
      SELECT auction, bidder, 0.908 * price AS price,
        CASE WHEN hour(date_time) >= 8 AND hour(date_time) <= 18 THEN 'dayTime'
          WHEN hour(date_time) <= 6 OR hour(date_time) >= 20 THEN 'nightTime' ELSE 'otherTime' END AS bid_time_type,
        date_time, extra, length(extra) - length(replace(extra, 'c', '')) AS c_counts
      FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000
    """,
    "q15": f"""
      SELECT {DAY} AS day, count(*) AS total_bids, {RANKS}, {distinct("bidder")}, {distinct("auction")}
      FROM bid GROUP BY {DAY}
    """,
    "q16": f"""
      SELECT channel, {DAY} AS day, max(date_format(date_time, 'HH:mm')) AS minute, count(*) AS total_bids, {RANKS},
        {distinct("bidder")}, {distinct("auction")}
      FROM bid GROUP BY channel, {DAY}
    """,
    "q17": f"""
      SELECT auction, {DAY} AS day, count(*) AS total_bids, {RANKS}, min(price) AS min_price, max(price) AS max_price,
        avg(price) AS avg_price, sum(price) AS sum_price
      FROM bid GROUP BY auction, {DAY}
    """,
    "q18": """
      SELECT auction, bidder, price, channel, url, date_time, extra FROM (
        SELECT *, row_number() OVER (
          PARTITION BY bidder, auction ORDER BY date_time DESC, price, channel) AS rank_number FROM bid) AS ranked
      WHERE rank_number <= 1
    """,
    "q19": """
      SELECT * FROM (
        SELECT *, row_number() OVER (
          PARTITION BY auction ORDER BY price DESC, bidder, date_time, channel) AS rank_number FROM bid) AS ranked
      WHERE rank_number <= 10
    """,
    "q20": """
      SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.date_time AS bid_time, a.item_name, a.seller, a.category
      FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10
    """,
    "q21": f"""
      SELECT auction, bidder, price, channel, CASE WHEN lower(channel) = 'apple' THEN '0'
        WHEN lower(channel) = 'google' THEN '1' WHEN lower(channel) = 'facebook' THEN '2'
        WHEN lower(channel) = 'baidu' THEN '3' ELSE {CHANNEL_ID} END AS channel_id
      FROM bid WHERE {CHANNEL_ID} <> '' OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu')
    """,
    "q22": """
      SELECT auction, bidder, price, channel, split(url, '/')[3] AS dir1, split(url, '/')[4] AS dir2,
        split(url, '/')[5] AS dir3 FROM bid
    """,
}
