"""Datalog text to the model and back.

The dialect is Soufflé's, without components, records, algebraic types, functors and subsumption, and with

    .decl link(src: symbol, dst: symbol, cost: number nullable) key(src, dst) ttl("10 minutes")
                                             columns are NOT NULL and relations are sets unless said otherwise;
                                             qualifiers: bag, key, partition, ttl, window, property
    best(x, min<c + 1>) :- path(x, c).       aggregates in heads, count<*>, sum<distinct x>
    -kept(x) :- dropped(x).                  differential rules, which take rows away
    id(x, #f(x)) :- node(x).                 Skolem terms: invented values
    a(x) :- b(x), (x < 1 or like(y, "a%")).  conditions as terms, with and, or, not, within parentheses
    a(as(x, DECIMAL(10,2))) :- @f(x).        casts; registered functions
    a([1, 2], DATE "2026-01-31", null::INT). arrays, typed literals, constants of a given type
    `my table`(x) :- b(x).                   any text as a name
"""
