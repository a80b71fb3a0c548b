"""Non-recursive components, maintained with counts: deltas of joins, projections and unions are exact in Z."""
