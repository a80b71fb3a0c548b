"""`whence shell`: SQL, Datalog and questions, one after the other."""
