"""Sites that work offline and agree later: replicated tables, and views that are followed from site to site."""
