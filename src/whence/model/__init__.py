"""The rule model: schemas, terms, atoms, rules, programs, updates. Frozen values that know where they came from."""
