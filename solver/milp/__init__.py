"""The program: sets, parameters, constraint families, objective terms, solving, extraction."""
